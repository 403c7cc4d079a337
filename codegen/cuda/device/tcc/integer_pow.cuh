// Powers of integers.
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

TCC_DEVICE bool is_negative(int64 x) { return x < 0; }
TCC_DEVICE bool is_negative(uint64) { return false; }

/// Squaring and multiplying, wrapping. Below zero the exponent gives 1 / base^-exponent, truncated: 0, or a power of 1 or -1.
template <class T>
TCC_DEVICE T integer_pow(T base_of, T exponent_of) {
  const auto base = Plain<T>::load(&base_of, 0), exponent = Plain<T>::load(&exponent_of, 0);
  if (is_negative(exponent)) return static_cast<T>(base == 1 ? 1 : base + 1 == 0 ? (exponent % 2 == 0 ? 1 : -1) : 0);
  uint64 result = 1, factor = static_cast<uint64>(base);
  for (uint64 rest = static_cast<uint64>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <class T>
TCC_DEVICE void integer_powers(const T* x, const T* exponents, T* y, int64 count) {
  const int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = integer_pow<T>(x[i], exponents[i]);
}

}  // namespace tcc
