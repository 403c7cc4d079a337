#include "runtime/reference/top_k.h"

#include <algorithm>
#include <numeric>

#include "runtime/reference/lines.h"

namespace tcc::reference {

Results TopKTensor(const Tensor& x, int axis, int64_t k, bool largest) {
  if (k < 0 || k > x.dim(axis))
    return OutOfRange("k = ", k, " is out of range for axis ", axis, " of extent ", x.dim(axis));
  Dims dims = x.dims();
  dims[axis] = k;
  TCC_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(x.dtype(), dims));
  TCC_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kI64, dims));
  TCC_RETURN_IF_ERROR(Dispatch(Numbers() + Bools(), x.dtype(), [&]<typename T>() -> absl::Status {
    const int64_t n = x.dim(axis), dx = x.strides()[axis], dy = values.strides()[axis];
    std::vector<int64_t> order(n);
    ForEachLine(x.dims(), axis, x.strides(), values.strides(), [&](int64_t from, int64_t to) {
      const T* xs = x.data_as<T>() + from;
      std::iota(order.begin(), order.end(), 0);
      // A strict total order: NaN counts as the largest, equal elements by index.
      const auto before = [&](int64_t i, int64_t j) {
        const T a = xs[i * dx], b = xs[j * dx];
        const bool nan_a = IsNanValue(a), nan_b = IsNanValue(b);
        if (nan_a != nan_b) return nan_a == largest;
        if (!nan_a && a != b) return largest ? a > b : a < b;
        return i < j;
      };
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (int64_t i = 0; i < k; ++i) {
        values.data_as<T>()[to + i * dy] = xs[order[i] * dx];
        indices.data_as<int64_t>()[to + i * dy] = order[i];
      }
    });
    return absl::OkStatus();
  }));
  return std::vector<Tensor>{std::move(values), std::move(indices)};
}

Results TopK(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_ASSIGN_OR_RETURN(const bool largest, Flag(call, "largest"));
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  if (static_cast<int>(type.dims.size()) != x.rank()) return Invalid("the result must have the operand's rank");
  return TopKTensor(x, axis, type.dims[axis], largest);
}

}  // namespace tcc::reference
