// Arithmetic of two operands.
#include <cmath>

#include "runtime/reference/pointwise.h"

namespace tcc::reference {
namespace {

template <typename Supported, typename F>
Results Binary(const Call& call, Supported types, F f) {
  const Tensor& a = call.inputs[0];
  return Dispatch(types, a.dtype(), [&]<typename T>() { return MapBinary<T, T>(a, call.inputs[1], f); });
}

// Truncates towards zero; by zero gives 0, MIN / -1 gives MIN.
template <typename T>
T IntDiv(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return WrapSub(T{0}, a);
  }
  return static_cast<T>(a / b);
}
template <typename T>
T IntFmod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <typename T>
T FmodOf(T a, T b) {
  if constexpr (kIsFloat<T>)
    return std::fmod(a, b);
  else
    return IntFmod(a, b);
}
// The sign of the divisor, also for zero results of floats, as Python and numpy have it.
template <typename T>
T ModOf(T a, T b) {
  T r = FmodOf(a, b);
  if constexpr (kIsFloat<T>) {
    if (r == 0) return b == 0 ? r : std::copysign(T(0), b);  // b == 0 gave NaN already
    if ((r < 0) != (b < 0)) r += b;
  } else if constexpr (std::is_signed_v<T>) {
    if (r != 0 && (r < 0) != (b < 0)) r = WrapAdd(r, b);
  }
  return r;
}

// Squaring and multiplying, wrapping. A negative exponent gives 1 / a^|b| truncated: 0, or 1 and -1 for those bases,
// and 0 for base 0 as in integer division.
template <typename T>
T IntPow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
  }
  T result = 1;
  for (auto e = static_cast<std::make_unsigned_t<T>>(exponent); e != 0; e >>= 1) {
    if (e & 1) result = WrapMul(result, base);
    base = WrapMul(base, base);
  }
  return result;
}

}  // namespace

Results Add(const Call& call) {
  return Binary(call, Numbers() + Complexes() + Bools(), []<typename T>(T a, T b) -> T {
    if constexpr (std::is_same_v<T, Bool>)
      return a || b;
    else
      return WrapAdd(a, b);
  });
}
Results Sub(const Call& call) {
  return Binary(call, Numbers() + Complexes(), [](auto a, auto b) { return WrapSub(a, b); });
}
Results Mul(const Call& call) {
  return Binary(call, Numbers() + Complexes() + Bools(), []<typename T>(T a, T b) -> T {
    if constexpr (std::is_same_v<T, Bool>)
      return a && b;
    else
      return WrapMul(a, b);
  });
}
Results Div(const Call& call) {
  return Binary(call, Numbers() + Complexes(), []<typename T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>)
      return IntDiv(a, b);
    else
      return a / b;
  });
}
Results Mod(const Call& call) {
  return Binary(call, Numbers(), [](auto a, auto b) { return ModOf(a, b); });
}
Results Fmod(const Call& call) {
  return Binary(call, Numbers(), [](auto a, auto b) { return FmodOf(a, b); });
}
Results Pow(const Call& call) {
  return Binary(call, Numbers() + Complexes(), []<typename T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>)
      return IntPow(a, b);
    else
      return std::pow(a, b);
  });
}
Results Atan2(const Call& call) {
  return Binary(call, Floats(), [](auto a, auto b) { return std::atan2(a, b); });
}
Results Max(const Call& call) {
  return Binary(call, Numbers() + Bools(), []<typename T>(T a, T b) -> T { return MaxOf(a, b); });
}
Results Min(const Call& call) {
  return Binary(call, Numbers() + Bools(), []<typename T>(T a, T b) -> T { return MinOf(a, b); });
}

}  // namespace tcc::reference
