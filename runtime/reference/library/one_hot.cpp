#include "runtime/reference/support.h"

namespace tcc::reference {

// ONNX OneHot(indices, depth, values [off, on]; axis): indices outside [-depth, depth) give a line of `off`.
Results OneHot(const Call& call) {
  const Tensor& indices = call.inputs[0];
  const Tensor& values = call.inputs[2];
  TCC_ASSIGN_OR_RETURN(const double depth_value, DoubleScalar(call.inputs[1], "depth"));
  if (!(depth_value >= 0 && depth_value < 1e15)) return OutOfRange("depth ", depth_value);
  const int64_t depth = static_cast<int64_t>(depth_value);
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", indices.rank() + 1, -1));
  if (values.rank() != 1 || values.dim(0) != 2) return Invalid("values must be [off, on]");
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> list, ToVector<int64_t>(indices));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  // Filled with `off` by a broadcast copy; `on` is set element by element.
  TCC_ASSIGN_OR_RETURN(const Tensor y, values.View(dims, Dims(dims.size(), 0), 0).Clone());
  const int64_t inner = Product(Extents(dims).subspan(axis + 1));
  TCC_RETURN_IF_ERROR(DispatchWidth(values.dtype(), [&]<typename T>() -> absl::Status {
    const T on = values.data_as<T>()[values.strides()[0]];
    for (int64_t i = 0; i < static_cast<int64_t>(list.size()); ++i) {
      const int64_t index = list[i] < 0 ? list[i] + depth : list[i];
      if (index < 0 || index >= depth) continue;
      y.data_as<T>()[(i / inner * depth + index) * inner + i % inner] = on;
    }
    return absl::OkStatus();
  }));
  return One(y);
}

}  // namespace tcc::reference
