#include "runtime/reference/lines.h"

namespace tcc::reference {

Results ArgReduce(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::string kind, call.attributes.String("kind"));
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_ASSIGN_OR_RETURN(const bool keep_dims, Flag(call, "keep_dims"));
  TCC_ASSIGN_OR_RETURN(const bool last, Flag(call, "select_last"));
  if (kind != "max" && kind != "min") return Invalid("kind '", kind, "' is none of max, min");
  Dims kept = x.dims();
  kept[axis] = 1;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI64, kept));
  if (x.dim(axis) == 0 && y.num_elements() != 0) return Invalid("axis ", axis, " has no elements to choose from");
  TCC_RETURN_IF_ERROR(Dispatch(Numbers() + Bools(), x.dtype(), [&]<typename T>() -> absl::Status {
    const bool largest = kind == "max";
    const int64_t n = x.dim(axis), step = x.strides()[axis];
    ForEachLine(x.dims(), axis, x.strides(), y.strides(), [&](int64_t from, int64_t to) {
      const T* xs = x.data_as<T>() + from;
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i) {
        const T a = xs[i * step], b = xs[best * step];
        // NaN beats every number, both ways; equal ones leave the choice to select_last.
        const bool better = IsNanValue(b) ? false : IsNanValue(a) ? true : largest ? a > b : a < b;
        const bool equal = IsNanValue(b) ? IsNanValue(a) : a == b;
        if (better || (last && equal)) best = i;
      }
      y.data_as<int64_t>()[to] = best;
    });
    return absl::OkStatus();
  }));
  if (keep_dims) return One(std::move(y));
  kept.erase(kept.begin() + axis);
  return One(y.Reshaped(kept));
}

}  // namespace tcc::reference
