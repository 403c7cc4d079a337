#include "runtime/reference/support.h"

namespace tcc::reference {

Results Concat(const Call& call) {
  const Tensor& first = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", first.rank()));
  Dims dims = first.dims();
  int64_t extent = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& x = call.inputs[i];
    if (!x.valid()) return Invalid("input ", i, " is missing");
    TCC_RETURN_IF_ERROR(CheckDType(x, first.dtype(), "each operand"));
    TCC_RETURN_IF_ERROR(CheckRank(x, first.rank(), "each operand"));
    for (int d = 0; d < first.rank(); ++d) {
      if (d != axis && x.dim(d) != first.dim(d)) {
        return Invalid("extents ", DimsText(first.dims()), " and ", DimsText(x.dims()), " differ off axis ", axis);
      }
    }
    TCC_ASSIGN_OR_RETURN(extent, CheckedAdd(extent, x.dim(axis)));
  }
  dims[axis] = extent;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(first.dtype(), dims));
  int64_t start = 0;
  for (const Tensor& x : call.inputs) {
    if (x.num_elements() != 0) {
      TCC_RETURN_IF_ERROR(CopyStrided(x, y.View(x.dims(), y.strides(), start * y.strides()[axis])));
    }
    start += x.dim(axis);
  }
  return One(std::move(y));
}

}  // namespace tcc::reference
