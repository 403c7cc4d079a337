// Integer and quantised matrix products and convolutions of ONNX: operands minus their zero points in int32, then the
// plain kernels; the quantised kinds rescale in float64 and saturate.
#include <algorithm>
#include <cmath>

#include "runtime/reference/conv.h"
#include "runtime/reference/convert.h"
#include "runtime/reference/gemm.h"

namespace tcc::reference {
namespace {

// x - zero as int32. The zero point is one value, or one per index of `axis` (rank 1), or broadcasts against x.
absl::StatusOr<Tensor> Centred(const Tensor& x, const Tensor& zero, int axis) {
  if (!IsInteger(x.dtype()) && !IsFloat(x.dtype())) return Invalid("operand is ", DTypeText(x.dtype()));
  TCC_ASSIGN_OR_RETURN(Tensor y, ConvertDType(x, DType::kI32));
  if (!zero.valid()) return y;
  TCC_ASSIGN_OR_RETURN(Tensor z, ConvertDType(zero, DType::kI32));
  if (z.num_elements() == 1) {
    z = z.View(x.dims(), Dims(x.rank(), 0), 0);
  } else if (z.rank() == 1) {
    if (axis >= x.rank() || z.dim(0) != x.dim(axis)) {
      return Invalid(z.dim(0), " zero points for axis ", axis, " of extents ", DimsText(x.dims()));
    }
    Dims strides(x.rank(), 0);
    strides[axis] = 1;
    z = z.View(x.dims(), strides, 0);
  } else {
    TCC_ASSIGN_OR_RETURN(z, BroadcastView(z, x.dims()));
  }
  TCC_ASSIGN_OR_RETURN(Tensor difference, Tensor::Allocate(DType::kI32, x.dims()));
  for (Runs runs(x.dims(), {y.strides(), z.strides(), difference.strides()}); runs.more(); runs.Next()) {
    for (int64_t i = 0; i < runs.length(); ++i) {
      difference.data_as<int32_t>()[runs.offset(2) + i * runs.step(2)] =
          WrapSub(y.data_as<int32_t>()[runs.offset(0) + i * runs.step(0)],
                  z.data_as<int32_t>()[runs.offset(1) + i * runs.step(1)]);
    }
  }
  return difference;
}

// numpy.matmul on int32: batch axes broadcast, vectors become matrices.
absl::StatusOr<Tensor> MatmulInt32(const Tensor& a_in, const Tensor& b_in) {
  if (a_in.rank() == 0 || b_in.rank() == 0) return Invalid("operands must have an axis");
  Tensor a = a_in, b = b_in;
  if (a.rank() == 1) a = a.Reshaped({1, a.dim(0)});
  if (b.rank() == 1) b = b.Reshaped({b.dim(0), 1});
  if (a.dim(a.rank() - 1) != b.dim(b.rank() - 2)) {
    return Invalid("extents ", DimsText(a_in.dims()), " and ", DimsText(b_in.dims()), " do not multiply");
  }
  TCC_ASSIGN_OR_RETURN(Dims batch,
                       BroadcastDims(Extents(a.dims()).first(a.rank() - 2), Extents(b.dims()).first(b.rank() - 2)));
  const auto full = [&](const Tensor& t) {
    Dims dims = batch;
    dims.insert(dims.end(), t.dims().end() - 2, t.dims().end());
    return BroadcastView(t, dims);
  };
  TCC_ASSIGN_OR_RETURN(a, full(a));
  TCC_ASSIGN_OR_RETURN(b, full(b));
  const int rank = a.rank();
  Dims dims = batch;
  dims.insert(dims.end(), {a.dim(rank - 2), b.dim(rank - 1)});
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI32, dims));
  const auto matrix = [&](const Tensor& t, const Counter& at) {
    return t.View(Extents(t.dims()).subspan(rank - 2), Extents(t.strides()).subspan(rank - 2),
                  at.Offset(Extents(t.strides()).first(rank - 2)));
  };
  for (Counter at(batch); y.num_elements() != 0 && at.more(); at.Next()) {
    GemmTensors<int32_t>(matrix(a, at), matrix(b, at), matrix(y, at));
  }
  if (b_in.rank() == 1) dims.pop_back();
  if (a_in.rank() == 1) dims.erase(dims.end() - (b_in.rank() == 1 ? 1 : 2));
  return y.Reshaped(dims);
}

absl::StatusOr<Tensor> ConvInt32(const Call& call, const Tensor& x, const Tensor& w) {
  if (w.rank() < 3) return Invalid("w must have rank 3 or more");
  TCC_ASSIGN_OR_RETURN(const Window window, ReadWindow(call, {w.dims().begin() + 2, w.dims().end()}));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> y, ConvTensor(x, w, window, call.attributes.IntOr("groups", 1), false));
  return y[0];
}

// saturate(round(sum * scale) + zero), scale per index of `axis` (stride 0 where it is one value).
absl::StatusOr<Tensor> Requantized(const Tensor& sums, const std::vector<double>& scales, int axis,
                                   const Tensor& zero) {
  TCC_ASSIGN_OR_RETURN(const double z, DoubleScalar(zero, "the result's zero point"));
  if (scales.size() != 1 && static_cast<int64_t>(scales.size()) != sums.dim(axis)) {
    return Invalid(scales.size(), " scales for axis ", axis, " of extent ", sums.dim(axis));
  }
  const DType dtype = zero.dtype();
  if (!IsInteger(dtype)) return absl::UnimplementedError(absl::StrCat("results of dtype ", DTypeText(dtype)));
  const double low = IsSignedInt(dtype) ? -std::ldexp(1, DTypeBits(dtype) - 1) : 0;
  const double high = std::ldexp(1, DTypeBits(dtype) - (IsSignedInt(dtype) ? 1 : 0)) - 1;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, sums.dims()));
  const int64_t inner = Product(Extents(sums.dims()).subspan(sums.rank() == 0 ? 0 : axis + 1));
  for (int64_t i = 0; i < sums.num_elements(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : i / inner % sums.dim(axis)];
    const double v = sums.data_as<int32_t>()[i] * scale;
    const double nearest = std::fabs(v - std::trunc(v)) == 0.5 ? 2 * std::round(v / 2) : std::round(v);
    y.data_as<double>()[i] = std::isnan(v) ? z : std::clamp(nearest + z, low, high);
  }
  return ConvertDType(y, dtype);
}

// a_scale * b_scale / y_scale, one for all or one per entry of b_scale.
absl::StatusOr<std::vector<double>> CombinedScales(const Tensor& a, const Tensor& b, const Tensor& y) {
  TCC_ASSIGN_OR_RETURN(const double a_scale, DoubleScalar(a, "the first scale"));
  TCC_ASSIGN_OR_RETURN(const double y_scale, DoubleScalar(y, "the result's scale"));
  TCC_ASSIGN_OR_RETURN(std::vector<double> scales, ToVector<double>(b));
  if (scales.empty()) return Invalid("a scale is empty");
  for (double& s : scales) s = a_scale * s / y_scale;
  return scales;
}

}  // namespace

// MatMulInteger(a, b, a_zero_point?, b_zero_point?) -> i32.
Results MatmulInteger(const Call& call) {
  if (call.inputs[0].rank() == 0 || call.inputs[1].rank() == 0) return Invalid("operands must have an axis");
  // A rank-1 zero point of a is per row, of b per column.
  TCC_ASSIGN_OR_RETURN(const Tensor a, Centred(call.inputs[0], call.inputs[2], std::max(call.inputs[0].rank() - 2, 0)));
  TCC_ASSIGN_OR_RETURN(const Tensor b, Centred(call.inputs[1], call.inputs[3], call.inputs[1].rank() - 1));
  return One(MatmulInt32(a, b));
}

// QLinearMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero); b's scale and zero point may be per column.
Results QlinearMatmul(const Call& call) {
  const Tensor &a = call.inputs[0], &b = call.inputs[3];
  if (a.rank() == 0 || b.rank() == 0) return Invalid("operands must have an axis");
  TCC_ASSIGN_OR_RETURN(const Tensor ca, Centred(a, call.inputs[2], std::max(a.rank() - 2, 0)));
  TCC_ASSIGN_OR_RETURN(const Tensor cb, Centred(b, call.inputs[5], b.rank() - 1));
  TCC_ASSIGN_OR_RETURN(const Tensor sums, MatmulInt32(ca, cb));
  TCC_ASSIGN_OR_RETURN(const auto scales, CombinedScales(call.inputs[1], call.inputs[4], call.inputs[6]));
  return One(Requantized(sums, scales, std::max(sums.rank() - 1, 0), call.inputs[7]));
}

// ConvInteger(x, w, x_zero_point?, w_zero_point?; strides, padding_low, padding_high, dilations, groups as tcc.conv) ->
// i32. Padding is with the zero point, that is with 0 after its subtraction.
Results ConvInteger(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Tensor x, Centred(call.inputs[0], call.inputs[2], 1));
  TCC_ASSIGN_OR_RETURN(const Tensor w, Centred(call.inputs[1], call.inputs[3], 0));
  return One(ConvInt32(call, x, w));
}

// QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias?); w's scale and zero point may be per
// output channel.
Results QlinearConv(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Tensor x, Centred(call.inputs[0], call.inputs[2], 1));
  TCC_ASSIGN_OR_RETURN(const Tensor w, Centred(call.inputs[3], call.inputs[5], 0));
  TCC_ASSIGN_OR_RETURN(const Tensor sums, ConvInt32(call, x, w));
  if (const Tensor& bias = call.inputs[8]; bias.valid()) {
    TCC_RETURN_IF_ERROR(CheckDType(bias, DType::kI32, "the bias"));
    if (bias.rank() != 1 || bias.dim(0) != sums.dim(1)) return Invalid("the bias must have one entry a channel");
    const int64_t inner = Product(Extents(sums.dims()).subspan(2));
    for (int64_t i = 0; i < sums.num_elements(); ++i) {
      int32_t& v = sums.data_as<int32_t>()[i];
      v = WrapAdd(v, bias.data_as<int32_t>()[i / inner % sums.dim(1) * bias.strides()[0]]);
    }
  }
  TCC_ASSIGN_OR_RETURN(const auto scales, CombinedScales(call.inputs[1], call.inputs[4], call.inputs[6]));
  return One(Requantized(sums, scales, 1, call.inputs[7]));
}

}  // namespace tcc::reference
