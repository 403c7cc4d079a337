#include "runtime/reference/support.h"

namespace tcc::reference {

// ONNX Compress(x, condition; axis): the slices along `axis` (without it: the elements of x flattened) whose condition
// holds. A condition shorter than the axis leaves the rest out.
Results Compress(const Call& call) {
  Tensor x = call.inputs[0];
  int axis = 0;
  if (call.attributes.Has("axis")) {
    TCC_ASSIGN_OR_RETURN(axis, AxisAttribute(call, "axis", x.rank()));
  } else {
    TCC_ASSIGN_OR_RETURN(x, ReshapedTo(x, {x.num_elements()}));
  }
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[1], DType::kBool, "the condition"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> condition, Int64List(call.inputs[1], "the condition"));
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < static_cast<int64_t>(condition.size()); ++i) {
    if (!condition[i]) continue;
    if (i >= x.dim(axis))
      return OutOfRange("index ", i, " is out of range for axis ", axis, " of extent ", x.dim(axis));
    kept.push_back(i);
  }
  Dims dims = x.dims();
  dims[axis] = static_cast<int64_t>(kept.size());
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  Dims slice = x.dims();
  slice[axis] = 1;
  for (size_t i = 0; i < kept.size() && y.num_elements() != 0; ++i) {
    TCC_RETURN_IF_ERROR(CopyStrided(x.View(slice, x.strides(), kept[i] * x.strides()[axis]),
                                    y.View(slice, y.strides(), static_cast<int64_t>(i) * y.strides()[axis])));
  }
  return One(std::move(y));
}

}  // namespace tcc::reference
