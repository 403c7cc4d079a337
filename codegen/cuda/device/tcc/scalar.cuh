//===- scalar.cuh - scalar operations that C++ lacks or defines otherwise --===//
//
// What the printer of kernels calls by name. Each is MLIR's operation on every input that one defines. Included by
// device.cuh, where __device__ and __forceinline__ mean something on the host too.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace tcc {

template <typename T> struct Same {
  using type = T;
};
/// A parameter that takes part in no deduction, so that literals convert.
template <typename T> using same = typename Same<T>::type;

template <typename To, typename From> __device__ __forceinline__ To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast between types of different size");
  To y;
  memcpy(&y, &x, sizeof(To));
  return y;
}

//===- Special values ------------------------------------------------------===//

template <typename T> __device__ __forceinline__ T inf();
template <> __device__ __forceinline__ float inf<float>() { return bit_cast<float>(0x7f800000u); }
template <> __device__ __forceinline__ double inf<double>() { return bit_cast<double>(0x7ff0000000000000ull); }

template <typename T> __device__ __forceinline__ T nan();
template <> __device__ __forceinline__ float nan<float>() { return bit_cast<float>(0x7fc00000u); }
template <> __device__ __forceinline__ double nan<double>() { return bit_cast<double>(0x7ff8000000000000ull); }

//===- Comparisons ---------------------------------------------------------===//

template <typename T> __device__ __forceinline__ bool is_nan(T x) { return x != x; }
template <typename T> __device__ __forceinline__ bool is_ordered(T a, same<T> b) { return a == a && b == b; }
/// Different, and neither is NaN.
template <typename T> __device__ __forceinline__ bool less_or_greater(T a, same<T> b) { return a < b || a > b; }

//===- Minimum and maximum -------------------------------------------------===//

template <typename T> __device__ __forceinline__ T min(T a, same<T> b) { return b < a ? b : a; }
template <typename T> __device__ __forceinline__ T max(T a, same<T> b) { return a < b ? b : a; }

/// IEEE 754-2019 maximum: NaN when either is, and -0 is below +0.
template <typename T> __device__ __forceinline__ T maximum(T a, same<T> b) {
  if (a == b) // of zeros the one without sign: its reciprocal is above
    return a == T(0) && T(1) / a < T(0) ? b : a;
  return a > b || a != a ? a : b;
}
template <typename T> __device__ __forceinline__ T minimum(T a, same<T> b) {
  if (a == b)
    return a == T(0) && T(1) / a > T(0) ? b : a;
  return a < b || a != a ? a : b;
}
#ifndef TCC_SIM
template <> __device__ __forceinline__ float maximum<float>(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
template <> __device__ __forceinline__ float minimum<float>(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
#endif

//===- Integers ------------------------------------------------------------===//

/// Quotients rounded down and up. As in MLIR: no division by zero, and no quotient that does not fit.
template <typename T> __device__ __forceinline__ T floor_div(T a, same<T> b) {
  T q = a / b, r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
template <typename T> __device__ __forceinline__ T ceil_div(T a, same<T> b) {
  T q = a / b, r = a % b;
  return r != 0 && (r < 0) == (b < 0) ? q + 1 : q;
}

/// Of unsigned numbers.
template <typename T> __device__ __forceinline__ T ceil_div_unsigned(T a, same<T> b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The smallest number stays what it is.
template <typename T> __device__ __forceinline__ T abs_int(T x) {
  return x < 0 ? static_cast<T>(0ull - static_cast<unsigned long long>(x)) : x;
}

/// Of all bits where there is none that is set.
template <typename T> __device__ __forceinline__ T leading_zeros(T x) {
  constexpr int kBits = 8 * sizeof(T);
  T n = 0;
  while (n < kBits && !(static_cast<unsigned long long>(x) >> (kBits - 1 - n) & 1))
    ++n;
  return n;
}
template <typename T> __device__ __forceinline__ T trailing_zeros(T x) {
  constexpr int kBits = 8 * sizeof(T);
  T n = 0;
  while (n < kBits && !(static_cast<unsigned long long>(x) >> n & 1))
    ++n;
  return n;
}
template <typename T> __device__ __forceinline__ T count_ones(T x) {
  T n = 0;
  for (int i = 0; i < 8 * static_cast<int>(sizeof(T)); ++i)
    n += static_cast<T>(static_cast<unsigned long long>(x) >> i & 1);
  return n;
}

} // namespace tcc
