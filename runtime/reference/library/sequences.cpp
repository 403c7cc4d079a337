// Reversal, grids and crops of ONNX.
#include "runtime/reference/convert.h"
#include "runtime/reference/pad.h"

namespace tcc::reference {

// ReverseSequence(x, sequence_lens; batch_axis 1, time_axis 0): the first sequence_lens[b] elements along time
// reversed.
Results ReverseSequence(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int batch, AxisAttribute(call, "batch_axis", x.rank(), 1));
  TCC_ASSIGN_OR_RETURN(const int time, AxisAttribute(call, "time_axis", x.rank(), 0));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Int64List(call.inputs[1], "sequence_lens"));
  if (batch == time || static_cast<int64_t>(lengths.size()) != x.dim(batch)) {
    return Invalid("sequence_lens must have one entry for each of ", x.dim(batch), " sequences");
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, x.Clone());
  for (size_t b = 0; b < lengths.size(); ++b) {
    const int64_t n = lengths[b];
    if (n < 0 || n > x.dim(time)) return OutOfRange("sequence length ", n, " of ", x.dim(time), " steps");
    Dims dims = x.dims(), reversed = x.strides();
    dims[batch] = 1;
    dims[time] = n;
    reversed[time] = -reversed[time];
    if (n == 0 || Product(dims) == 0) continue;
    const int64_t b64 = static_cast<int64_t>(b);
    TCC_RETURN_IF_ERROR(CopyStrided(x.View(dims, reversed, b64 * x.strides()[batch] + (n - 1) * x.strides()[time]),
                                    y.View(dims, y.strides(), b64 * y.strides()[batch])));
  }
  return One(std::move(y));
}

// AffineGrid(theta [N, k, k + 1], size [N, C, spatial..]; align_corners) -> [N, spatial.., k], x first, k = 2 or 3.
Results AffineGrid(const Call& call) {
  const Tensor& theta = call.inputs[0];
  TCC_RETURN_IF_ERROR(CheckRank(theta, 3, "theta"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> size, Int64List(call.inputs[1], "the size"));
  const int axes = static_cast<int>(size.size()) - 2;
  if (axes < 1 || theta.dim(0) != size[0] || theta.dim(1) != axes || theta.dim(2) != axes + 1) {
    return Invalid("theta ", DimsText(theta.dims()), " does not fit size ", DimsText(size));
  }
  const bool align = call.attributes.IntOr("align_corners", 0) != 0;
  TCC_ASSIGN_OR_RETURN(const std::vector<double> matrix, ToVector<double>(theta));
  Dims dims{size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(axes);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, dims));
  double* out = y.data_as<double>();
  for (Counter at(Extents(dims).first(axes + 1)); y.num_elements() != 0 && at.more(); at.Next()) {
    const double* m = matrix.data() + at[0] * axes * (axes + 1);
    for (int row = 0; row < axes; ++row) {
      double sum = m[row * (axes + 1) + axes];
      for (int k = 0; k < axes; ++k) {
        const int axis = axes - k;  // coordinate 0 is x, along the last axis
        const auto i = static_cast<double>(at[axis]), n = static_cast<double>(dims[axis]);
        const double c = align ? (n == 1 ? 0 : -1 + 2 * i / (n - 1)) : (2 * i + 1) / n - 1;
        sum += m[row * (axes + 1) + k] * c;
      }
      *out++ = sum;
    }
  }
  return One(ConvertDType(y, theta.dtype()));
}

// CenterCropPad(x, shape; axes): each axis cropped or zero-padded around its centre; an odd one goes to the end.
Results CenterCropPad(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Int64List(call.inputs[1], "the shape"));
  std::vector<int64_t> axes = call.attributes.IntsOr("axes", {});
  if (!call.attributes.Has("axes")) {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  if (axes.size() != shape.size()) return Invalid(shape.size(), " extents for ", axes.size(), " axes");
  std::vector<int64_t> low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(const int axis, Axis(axes[i], x.rank()));
    if (shape[i] < 0) return Invalid("negative extent ", shape[i]);
    const int64_t extra = shape[i] - x.dim(axis);
    low[axis] = extra / 2;  // towards zero: a crop's start and a pad's start both round down
    high[axis] = extra - low[axis];
  }
  return PadTensor(x, {}, low, high, "constant");
}

}  // namespace tcc::reference
