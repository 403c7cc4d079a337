#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// What a sum or product of T is accumulated in.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;

// One pass over x in its own order. The accumulators are seen through strides that are 0 along reduced axes, so a run
// either folds into one accumulator or updates a row of them.
template <typename T, typename A, typename F>
void Fold(const Tensor& x, A* accumulators, const Dims& strides, F combine) {
  for (Runs runs(x.dims(), {x.strides(), strides}); runs.more(); runs.Next()) {
    const T* xs = x.data_as<T>() + runs.offset(0);
    A* as = accumulators + runs.offset(1);
    const int64_t n = runs.length(), dx = runs.step(0), da = runs.step(1);
    if (da == 0) {
      A value = *as;
      for (int64_t i = 0; i < n; ++i) value = combine(value, static_cast<A>(xs[i * dx]));
      *as = value;
    } else {
      for (int64_t i = 0; i < n; ++i) as[i * da] = combine(as[i * da], static_cast<A>(xs[i * dx]));
    }
  }
}

template <typename T, typename A, typename F>
absl::Status ReduceInto(const Tensor& x, const Tensor& y, const Dims& strides, A identity, F combine,
                        int64_t divisor = 0) {
  std::vector<A> accumulators(y.num_elements(), identity);
  Fold<T>(x, accumulators.data(), strides, combine);
  T* ys = y.data_as<T>();
  for (int64_t i = 0; i < y.num_elements(); ++i) ys[i] = static_cast<T>(accumulators[i]);
  return absl::OkStatus();
}

// Integers: the sum in 64 bits, divided towards zero; an empty mean has no value and is 0.
template <typename T>
absl::Status MeanInto(const Tensor& x, const Tensor& y, const Dims& strides, int64_t count) {
  using A = std::conditional_t<
      kIsFloat<T>, double,
      std::conditional_t<std::is_integral_v<T>, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, T>>;
  std::vector<A> sums(y.num_elements(), A(0));
  Fold<T>(x, sums.data(), strides, [](A a, A b) { return WrapAdd(a, b); });
  T* ys = y.data_as<T>();
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      ys[i] = count == 0 ? T(0) : static_cast<T>(sums[i] / static_cast<A>(count));
    } else if constexpr (kIsFloat<T>) {
      ys[i] = static_cast<T>(sums[i] / static_cast<double>(count));  // 0 / 0 is the NaN of an empty mean
    } else {
      ys[i] = sums[i] / T(static_cast<typename T::value_type>(count));
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ReduceTyped(const std::string& kind, const Tensor& x, const Tensor& y, const Dims& strides,
                         int64_t count) {
  if constexpr (std::is_same_v<T, Bool>) {
    if (kind == "max") return ReduceInto<T, Bool>(x, y, strides, false, [](Bool a, Bool b) -> Bool { return a || b; });
    if (kind == "min") return ReduceInto<T, Bool>(x, y, strides, true, [](Bool a, Bool b) -> Bool { return a && b; });
    return absl::UnimplementedError(absl::StrCat("kind '", kind, "' is not supported for bool"));
  } else {
    using A = Accumulator<T>;
    if (kind == "sum") return ReduceInto<T, A>(x, y, strides, A(0), [](A a, A b) { return WrapAdd(a, b); });
    if (kind == "prod") return ReduceInto<T, A>(x, y, strides, A(1), [](A a, A b) { return WrapMul(a, b); });
    if (kind == "mean") return MeanInto<T>(x, y, strides, count);
    if constexpr (!kIsComplex<T>) {
      if (kind == "max") return ReduceInto<T, T>(x, y, strides, LowestValue<T>(), [](T a, T b) { return MaxOf(a, b); });
      if (kind == "min")
        return ReduceInto<T, T>(x, y, strides, HighestValue<T>(), [](T a, T b) { return MinOf(a, b); });
    }
    return Invalid("kind '", kind, "' is none of sum, prod, max, min, mean");
  }
}

}  // namespace

Results Reduce(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::string kind, call.attributes.String("kind"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, call.attributes.Ints("axes"));
  TCC_ASSIGN_OR_RETURN(const bool keep_dims, Flag(call, "keep_dims"));
  std::vector<bool> reduced(x.rank(), false);
  for (int64_t a : axes) {
    TCC_ASSIGN_OR_RETURN(const int axis, Axis(a, x.rank()));
    if (reduced[axis]) return Invalid("axis ", axis, " is listed twice");
    reduced[axis] = true;
  }
  Dims dims, kept;
  int64_t count = 1;  // elements that one result combines
  for (int axis = 0; axis < x.rank(); ++axis) {
    kept.push_back(reduced[axis] ? 1 : x.dim(axis));
    if (reduced[axis]) count *= x.dim(axis);
    if (!reduced[axis] || keep_dims) dims.push_back(kept.back());
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  Dims strides = ContiguousStrides(kept);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) strides[axis] = 0;
  }
  TCC_RETURN_IF_ERROR(Dispatch(Numbers() + Complexes() + Bools(), x.dtype(),
                               [&]<typename T>() { return ReduceTyped<T>(kind, x, y, strides, count); }));
  return One(std::move(y));
}

}  // namespace tcc::reference
