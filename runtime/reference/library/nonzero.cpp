#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {

// Indices of the non-zero elements, i64 [rank, count], in row-major order.
Results Nonzero(const Call& call) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Numbers() + Bools() + Complexes(), x.dtype(), [&]<typename T>() -> Results {
    std::vector<int64_t> found;
    for (Counter at(x.dims()); at.more(); at.Next()) {
      if (x.data_as<T>()[at.Offset(x.strides())] == T(0)) continue;
      found.insert(found.end(), at.index().begin(), at.index().end());
      if (x.rank() == 0) found.push_back(0);  // a scalar is one element
    }
    const int64_t rank = x.rank();
    const int64_t count = static_cast<int64_t>(found.size()) / std::max<int64_t>(rank, 1);
    TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI64, {rank, count}));
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t axis = 0; axis < rank; ++axis) y.data_as<int64_t>()[axis * count + i] = found[i * rank + axis];
    }
    return One(std::move(y));
  });
}

// start, start + delta, ... up to but not including limit; element i is start + i * delta, rounded once.
Results Range(const Call& call) {
  const DType dtype = call.inputs[0].dtype();
  for (const Tensor& t : call.inputs) {
    TCC_RETURN_IF_ERROR(CheckDType(t, dtype, "start, limit and delta"));
    if (t.num_elements() != 1) return Invalid("start, limit and delta must be one number each");
  }
  return Dispatch(Numbers(), dtype, [&]<typename T>() -> Results {
    const T start = *call.inputs[0].data_as<T>(), limit = *call.inputs[1].data_as<T>();
    const T delta = *call.inputs[2].data_as<T>();
    if (delta == 0) return Invalid("delta is 0");
    int64_t count = 0;
    if constexpr (kIsFloat<T>) {
      const double n = std::ceil((static_cast<double>(limit) - start) / delta);
      if (std::isnan(n) || n > 1e15) return OutOfRange("range from ", start, " to ", limit, " by ", delta);
      count = n > 0 ? static_cast<int64_t>(n) : 0;
    } else {
      __extension__ using Wide = __int128;
      const Wide span = static_cast<Wide>(limit) - start, step = delta;
      if ((span > 0) == (step > 0) && span != 0) {
        const Wide n = (span + step - (step > 0 ? 1 : -1)) / step;
        if (n > INT64_MAX) return OutOfRange("range from ", start, " to ", limit, " by ", delta);
        count = static_cast<int64_t>(n);
      }
    }
    TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(dtype, {count}));
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (kIsFloat<T>) {
        y.data_as<T>()[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * delta);
      } else {
        y.data_as<T>()[i] = WrapAdd(start, WrapMul(static_cast<T>(i), delta));
      }
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
