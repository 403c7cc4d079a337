#include "runtime/reference/support.h"

namespace tcc::reference {

// ONNX MaxUnpool(x [N, C, spatial..], indices, output_shape?; kernel_shape, strides, pads). Indices are flat over the
// tensor of the extents that kernel, strides and pads give; with output_shape they are flat over that one.
Results MaxUnpool(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_RETURN_IF_ERROR(CheckSameDims(x, call.inputs[1]));
  const int axes = x.rank() - 2;
  if (axes < 1) return Invalid("x must have rank 3 or more");
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, call.attributes.Ints("kernel_shape"));
  const std::vector<int64_t> strides = call.attributes.IntsOr("strides", std::vector<int64_t>(axes, 1));
  const std::vector<int64_t> pads = call.attributes.IntsOr("pads", std::vector<int64_t>(2 * axes, 0));
  if (static_cast<int>(kernel.size()) != axes || static_cast<int>(strides.size()) != axes ||
      static_cast<int>(pads.size()) != 2 * axes) {
    return Invalid("kernel_shape, strides and pads must fit ", axes, " axes");
  }
  Dims dims{x.dim(0), x.dim(1)};
  for (int i = 0; i < axes; ++i) {
    TCC_ASSIGN_OR_RETURN(int64_t extent, CheckedMul(x.dim(i + 2) - 1, strides[i]));
    TCC_ASSIGN_OR_RETURN(extent, CheckedAdd(extent, kernel[i]));
    TCC_ASSIGN_OR_RETURN(const int64_t padding, CheckedAdd(pads[i], pads[i + axes]));
    TCC_ASSIGN_OR_RETURN(extent, CheckedAdd(extent, -std::max<int64_t>(padding, -INT64_MAX)));
    dims.push_back(extent);
  }
  if (call.inputs[2].valid()) {
    TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Int64List(call.inputs[2], "output_shape"));
    if (static_cast<int>(shape.size()) != axes + 2) return Invalid("output_shape must have ", axes + 2, " entries");
    // The indices count in the tensor without the extra room; they are placed by their coordinates.
    const Dims inner = dims;
    dims.assign(shape.begin(), shape.end());
    TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(x.dtype(), dims));
    TCC_ASSIGN_OR_RETURN(const int64_t limit, NumElements(inner));
    TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToVector<int64_t>(call.inputs[1]));
    TCC_ASSIGN_OR_RETURN(const Tensor values, x.Contiguous());
    TCC_RETURN_IF_ERROR(DispatchWidth(x.dtype(), [&]<typename T>() -> absl::Status {
      for (size_t i = 0; i < indices.size(); ++i) {
        int64_t rest = indices[i], offset = 0;
        if (rest < 0 || rest >= limit) return OutOfRange("index ", rest, " is out of range for ", limit, " elements");
        for (int axis = axes + 1; axis >= 0; --axis) {
          const int64_t at = rest % inner[axis];
          rest /= inner[axis];
          if (at >= dims[axis]) return OutOfRange("index ", indices[i], " lies outside output_shape ", DimsText(dims));
          offset += at * y.strides()[axis];
        }
        y.data_as<T>()[offset] = values.data_as<T>()[i];
      }
      return absl::OkStatus();
    }));
    return One(std::move(y));
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(x.dtype(), dims));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToVector<int64_t>(call.inputs[1]));
  TCC_ASSIGN_OR_RETURN(const Tensor values, x.Contiguous());
  TCC_RETURN_IF_ERROR(DispatchWidth(x.dtype(), [&]<typename T>() -> absl::Status {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= y.num_elements()) {
        return OutOfRange("index ", indices[i], " is out of range for ", y.num_elements(), " elements");
      }
      y.data_as<T>()[indices[i]] = values.data_as<T>()[i];
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace tcc::reference
