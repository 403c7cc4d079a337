// ONNX QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// Nearest integer, ties to even, whatever the rounding mode of the thread.
double RoundHalfEven(double v) {
  const double nearest = std::round(v);
  return std::fabs(v - std::trunc(v)) == 0.5 ? 2 * std::round(v / 2) : nearest;
}

// The parameters (scale, zero point) as float64 with x's extents: one for all, one per index of `axis`, or one per
// block of `block_size` along it.
absl::StatusOr<Tensor> Spread(const Tensor& parameter, const Tensor& x, int64_t axis_attribute, int64_t block_size) {
  TCC_ASSIGN_OR_RETURN(const Tensor p, ConvertDType(parameter, DType::kF64));
  if (p.num_elements() == 1 && p.rank() <= 1) return p.View(x.dims(), Dims(x.rank(), 0), 0);
  TCC_ASSIGN_OR_RETURN(const int axis, Axis(axis_attribute, x.rank()));
  if (p.rank() == 1 && block_size == 0) {
    if (p.dim(0) != x.dim(axis)) {
      return Invalid(p.dim(0), " scales or zero points for axis ", axis, " of extent ", x.dim(axis));
    }
    Dims strides(x.rank(), 0);
    strides[axis] = 1;
    return p.View(x.dims(), strides, 0);
  }
  bool good = p.rank() == x.rank() && block_size >= 0;
  for (int a = 0; good && a < x.rank(); ++a) good = a == axis || p.dim(a) == x.dim(a);
  if (good && block_size == 0) block_size = p.dim(axis) == 0 ? 1 : (x.dim(axis) + p.dim(axis) - 1) / p.dim(axis);
  block_size = std::min(block_size, std::max<int64_t>(x.dim(axis), 1));  // one block; keeps the sum below small
  if (!good || block_size <= 0 || (x.dim(axis) + block_size - 1) / block_size != p.dim(axis)) {
    return Invalid("scales or zero points ", DimsText(p.dims()), " do not fit ", DimsText(x.dims()));
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, x.dims()));
  for (Counter at(x.dims()); at.more(); at.Next()) {
    Dims index = at.index();
    index[axis] /= block_size;
    int64_t offset = 0;
    for (int a = 0; a < x.rank(); ++a) offset += index[a] * p.strides()[a];
    y.data_as<double>()[at.Offset(y.strides())] = p.data_as<double>()[offset];
  }
  return y;
}

// The range a quantised integer saturates to.
std::pair<double, double> RangeOf(DType dtype) {
  const int bits = DTypeBits(dtype);
  if (IsSignedInt(dtype)) return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
  return {0, std::ldexp(1, bits) - 1};
}

}  // namespace

// QuantizeLinear(x, scale, zero_point?; axis, block_size, saturate) -> saturate(round(x / scale) + zero_point). The
// result's dtype: that of zero_point, else the expected one, else u8.
Results QuantizeLinear(const Call& call) {
  const Tensor& input = call.inputs[0];
  const Tensor& zero = call.inputs[2];
  const int64_t axis = call.attributes.IntOr("axis", 1), block = call.attributes.IntOr("block_size", 0);
  const DType dtype = zero.valid() ? zero.dtype() : ResultDType(call, 0, DType::kU8);
  if (!IsInteger(dtype) && !IsFloat(dtype)) return Invalid("cannot quantize to ", DTypeText(dtype));
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(input, DType::kF64));
  TCC_ASSIGN_OR_RETURN(const Tensor scales, Spread(call.inputs[1], x, axis, block));
  Tensor zeros;
  if (zero.valid()) {
    TCC_ASSIGN_OR_RETURN(zeros, Spread(zero, x, axis, block));
  } else {
    TCC_ASSIGN_OR_RETURN(zeros, Spread(Tensor::Scalar(0.0), x, axis, block));
  }
  // The division in float32, as the specification's types have it, unless the operands are wider.
  const bool single = WideDType(input.dtype()) != DType::kF64;
  const auto [low, high] = RangeOf(dtype);
  const bool integer = IsInteger(dtype);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, x.dims()));
  for (Runs runs(x.dims(), {x.strides(), scales.strides(), zeros.strides(), y.strides()}); runs.more(); runs.Next()) {
    for (int64_t i = 0; i < runs.length(); ++i) {
      const double v = x.data_as<double>()[runs.offset(0) + i * runs.step(0)];
      const double s = scales.data_as<double>()[runs.offset(1) + i * runs.step(1)];
      const double z = zeros.data_as<double>()[runs.offset(2) + i * runs.step(2)];
      double q = single ? static_cast<double>(static_cast<float>(v) / static_cast<float>(s)) : v / s;
      if (integer) {
        q = std::isnan(q) ? std::clamp(z, low, high) : std::clamp(RoundHalfEven(q) + z, low, high);
      } else {
        q += z;
      }
      y.data_as<double>()[runs.offset(3) + i * runs.step(3)] = q;
    }
  }
  return One(ConvertDType(y, dtype, {.saturate = call.attributes.IntOr("saturate", 1) != 0}));
}

// DequantizeLinear(x, scale, zero_point?; axis, block_size) -> (x - zero_point) * scale in scale's dtype (or the
// expected one).
Results DequantizeLinear(const Call& call) {
  const Tensor& zero = call.inputs[2];
  const int64_t axis = call.attributes.IntOr("axis", 1), block = call.attributes.IntOr("block_size", 0);
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(call.inputs[0], DType::kF64));
  TCC_ASSIGN_OR_RETURN(const Tensor scales, Spread(call.inputs[1], x, axis, block));
  TCC_ASSIGN_OR_RETURN(const Tensor zeros, Spread(zero.valid() ? zero : Tensor::Scalar(0.0), x, axis, block));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, x.dims()));
  for (Runs runs(x.dims(), {x.strides(), scales.strides(), zeros.strides(), y.strides()}); runs.more(); runs.Next()) {
    for (int64_t i = 0; i < runs.length(); ++i) {
      const double v = x.data_as<double>()[runs.offset(0) + i * runs.step(0)];
      const double s = scales.data_as<double>()[runs.offset(1) + i * runs.step(1)];
      const double z = zeros.data_as<double>()[runs.offset(2) + i * runs.step(2)];
      y.data_as<double>()[runs.offset(3) + i * runs.step(3)] = (v - z) * s;
    }
  }
  return One(ConvertDType(y, ResultDType(call, 0, call.inputs[1].dtype())));
}

// DynamicQuantizeLinear(x f32) -> y u8, scale f32, zero point u8.
Results DynamicQuantizeLinear(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[0], DType::kF32, "x"));
  TCC_ASSIGN_OR_RETURN(const Tensor x, call.inputs[0].Contiguous());
  const float* xs = x.data_as<float>();
  float low = 0, high = 0;  // the range is widened to include zero
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    low = std::min(low, xs[i]);
    high = std::max(high, xs[i]);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float offset = 0.0f - low / scale;  // NaN where the range is infinite
  const double zero = offset > 0 ? RoundHalfEven(std::min(offset, 255.0f)) : 0;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kU8, x.dims()));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double q = RoundHalfEven(xs[i] / scale) + zero;
    y.data_as<uint8_t>()[i] =
        std::isnan(q) ? static_cast<uint8_t>(zero) : static_cast<uint8_t>(std::clamp(q, 0.0, 255.0));
  }
  return std::vector<Tensor>{y, Tensor::Scalar(scale), Tensor::Scalar(static_cast<uint8_t>(zero))};
}

}  // namespace tcc::reference
