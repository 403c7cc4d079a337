// Unary ops without transcendental functions: all numbers.
#include <cmath>

#include "runtime/reference/pointwise.h"

namespace tcc::reference {
namespace {

// Rounding: floats by `f`, integers stay as they are.
template <typename F>
Results Rounded(const Call& call, F f) {
  const Tensor& x = call.inputs[0];
  if (IsInteger(x.dtype())) return One(x);
  return Dispatch(Floats(), x.dtype(), [&]<typename T>() { return MapUnary<T, T>(x, [&](T v) { return f(v); }); });
}

}  // namespace

Results Abs(const Call& call) {
  const Tensor& x = call.inputs[0];
  if (IsComplex(x.dtype())) {
    return Dispatch(Complexes(), x.dtype(), [&]<typename T>() {
      return MapUnary<T, typename T::value_type>(x, [](T v) { return std::abs(v); });
    });
  }
  return Dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, T>(x, [](T v) -> T {
      if constexpr (kIsFloat<T>) return std::fabs(v);
      return v < 0 ? WrapSub(T{0}, v) : v;
    });
  });
}

Results Neg(const Call& call) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Numbers() + Complexes(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, T>(x, [](T v) -> T {
      if constexpr (std::is_integral_v<T>) return WrapSub(T{0}, v);
      return -v;
    });
  });
}

Results Sign(const Call& call) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, T>(x, [](T v) -> T { return v > 0 ? T(1) : v < 0 ? T(-1) : v; });
  });
}

Results Ceil(const Call& call) {
  return Rounded(call, [](auto v) { return std::ceil(v); });
}
Results Floor(const Call& call) {
  return Rounded(call, [](auto v) { return std::floor(v); });
}
// Independent of the rounding mode of the calling thread.
Results Round(const Call& call) {
  return Rounded(call, [](auto v) {
    const auto nearest = std::round(v);  // ties away from zero
    return std::fabs(v - std::trunc(v)) == 0.5 ? 2 * std::round(v / 2) : nearest;
  });
}
Results Trunc(const Call& call) {
  return Rounded(call, [](auto v) { return std::trunc(v); });
}

Results Not(const Call& call) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Bools() + Ints(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, T>(x, [](T v) -> T {
      if constexpr (std::is_same_v<T, Bool>)
        return !v;
      else
        return static_cast<T>(~v);
    });
  });
}

Results IsNan(const Call& call) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Numbers() + Complexes(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, Bool>(x, [](T v) -> Bool {
      if constexpr (kIsComplex<T>) return std::isnan(v.real()) || std::isnan(v.imag());
      return IsNanValue(v);
    });
  });
}

Results IsInf(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const bool negative, Flag(call, "detect_negative"));
  TCC_ASSIGN_OR_RETURN(const bool positive, Flag(call, "detect_positive"));
  return Dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    return MapUnary<T, Bool>(x, [&](T v) -> Bool {
      if constexpr (kIsFloat<T>) return std::isinf(v) && (v < 0 ? negative : positive);
      return false;
    });
  });
}

}  // namespace tcc::reference
