#include "runtime/reference/support.h"

namespace tcc::reference {

Results Iota(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  const int rank = static_cast<int>(type.dims.size());
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", rank));
  // The ramp along the axis, seen from all others with stride 0.
  return Dispatch(Numbers() + Bools(), type.dtype, [&]<typename T>() -> Results {
    TCC_RETURN_IF_ERROR(NumElements(type.dims).status());
    TCC_ASSIGN_OR_RETURN(Tensor ramp, Tensor::Allocate(type.dtype, {type.dims[axis]}));
    T* values = ramp.data_as<T>();
    for (int64_t i = 0; i < type.dims[axis]; ++i) values[i] = static_cast<T>(i);
    Dims strides(rank, 0);
    strides[axis] = 1;
    return One(ramp.View(type.dims, strides, 0));
  });
}

}  // namespace tcc::reference
