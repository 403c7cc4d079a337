// Conversions to and from the element types that no kernel computes in: 8-bit and 4-bit floats, packed integers.
#pragma once
#include "tcc/device.cuh"

namespace tcc {

//===- Numbers on their way: float, double, int64 or uint64 ------------------===//

/// A float from which rounding to at most 16 bits gives what rounding x itself gives: what is cut off is left as a one at
/// its end. (Rounding twice to nearest could end up on the wrong side of a tie.)
TCC_DEVICE float sticky_float(float x) { return x; }
TCC_DEVICE float sticky_float(double x) {
  const float near = static_cast<float>(x);
  const double back = static_cast<double>(near);
  if (back == x || x != x) return near;
  uint32 bits = __float_as_uint(near);
  if ((back < 0 ? -back : back) > (x < 0 ? -x : x)) --bits;
  return __uint_as_float(bits | 1u);
}
TCC_DEVICE float sticky_float(uint64 x) {
  int shift = 0;
  while (x >> shift >= 1ull << 24) ++shift;
  const uint64 kept = x >> shift, rest = x - (kept << shift);
  const float scale = __uint_as_float(static_cast<uint32>(127 + shift) << 23);
  return static_cast<float>(kept | (rest != 0 ? 1u : 0u)) * scale;
}
TCC_DEVICE float sticky_float(int64 x) {
  return x < 0 ? -sticky_float(0ull - static_cast<uint64>(x)) : sticky_float(static_cast<uint64>(x));
}

/// An integer of BITS: of floats the number towards zero, the nearest bound beyond, 0 for NaN; of integers the low bits.
template <class T, bool SIGNED, int BITS>
struct ToInteger {
  static TCC_DEVICE T of(int64 x) { return static_cast<T>(x); }
  static TCC_DEVICE T of(uint64 x) { return static_cast<T>(x); }
  static TCC_DEVICE T of(float x) { return of(static_cast<double>(x)); }
  static TCC_DEVICE T of(double x) {
    constexpr double kUpper = static_cast<double>(1ull << (BITS - (SIGNED ? 1 : 0) - 1)) * 2.0;
    constexpr double kLower = SIGNED ? -kUpper : 0.0;
    constexpr T kMax = SIGNED ? static_cast<T>((1ull << (BITS - 1)) - 1) : static_cast<T>(~0ull);
    constexpr T kMin = SIGNED ? static_cast<T>(1ull << (BITS - 1)) : static_cast<T>(0);
    return x != x ? static_cast<T>(0) : x >= kUpper ? kMax : x <= kLower ? kMin : static_cast<T>(x);
  }
};

//===- Formats ---------------------------------------------------------------===//
// Stored: what an array of it is made of. kPerByte: elements of a byte, 1 for those of a byte or more. load(): element i.
// bits(): what is stored of a number.

template <class T>
struct Plain; // bool is not: Boolean
#define TCC_PLAIN(T, WIDE, ...)                                                                     \
  template <>                                                                                       \
  struct Plain<T> {                                                                                 \
    using Stored = T;                                                                               \
    static constexpr int kPerByte = 1;                                                              \
    static TCC_DEVICE WIDE load(const T* x, int64 i) { return static_cast<WIDE>(x[i]); }            \
    template <class Wide>                                                                           \
    static TCC_DEVICE T bits(Wide x, bool) { return static_cast<T>(__VA_ARGS__(x)); }               \
  };
TCC_PLAIN(signed char, int64, ToInteger<signed char, true, 8>::of)
TCC_PLAIN(short, int64, ToInteger<short, true, 16>::of)
TCC_PLAIN(int, int64, ToInteger<int, true, 32>::of)
TCC_PLAIN(long long, int64, ToInteger<long long, true, 64>::of)
TCC_PLAIN(unsigned char, int64, ToInteger<unsigned char, false, 8>::of)
TCC_PLAIN(unsigned short, int64, ToInteger<unsigned short, false, 16>::of)
TCC_PLAIN(unsigned, int64, ToInteger<unsigned, false, 32>::of)
TCC_PLAIN(unsigned long long, uint64, ToInteger<unsigned long long, false, 64>::of)
TCC_PLAIN(float, float, )
TCC_PLAIN(double, double, )
TCC_PLAIN(__half, float, sticky_float)
TCC_PLAIN(__nv_bfloat16, float, sticky_float)
#undef TCC_PLAIN

struct Boolean {
  using Stored = unsigned char;
  static constexpr int kPerByte = 1;
  static TCC_DEVICE int64 load(const unsigned char* x, int64 i) { return x[i]; }
  template <class Wide>
  static TCC_DEVICE unsigned char bits(Wide x, bool) { return x != Wide(0) ? 1 : 0; }
};

/// `Format`: Float8E4M3FN, ...
template <class Format>
struct Narrow {
  using Stored = unsigned char;
  static constexpr int kPerByte = 1;
  static TCC_DEVICE float load(const unsigned char* x, int64 i) { return Format::value(x[i]); }
  template <class Wide>
  static TCC_DEVICE unsigned char bits(Wide x, bool saturate) { return Format::bits(sticky_float(x), saturate); }
};

/// A power of two from 2^-127 to 2^127, without sign and zero; 255 is NaN. Other numbers become the next one above.
struct Float8E8M0 {
  static TCC_DEVICE float value(uint8 bits) {
    if (bits == 255) return quiet_nan();
    return __uint_as_float(bits == 0 ? 0x00400000u : static_cast<uint32>(bits) << 23);
  }
  static TCC_DEVICE uint8 bits(float x, bool saturate) {
    const uint32 source = __float_as_uint(x), magnitude = source & 0x7fffffffu;
    if (magnitude == 0) return 0;
    if (magnitude >= 0x7f800000u || source != magnitude) return 255;
    // (A denormal number is above 2^-127 where its highest bit is one, beside others.)
    const uint32 exponent = magnitude >> 23, fraction = magnitude & 0x7fffffu;
    const uint32 up = exponent == 0 ? (fraction > 0x400000u ? 1u : 0u) : exponent + (fraction != 0 ? 1u : 0u);
    return static_cast<uint8>(up == 255 ? (saturate ? 254u : 255u) : up);
  }
};

/// Two a byte, the first in the low bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. What is beyond is 6, NaN is -0.
struct Float4E2M1 {
  using Stored = unsigned char;
  static constexpr int kPerByte = 2;
  static TCC_DEVICE float load(const unsigned char* x, int64 i) {
    const uint32 bits = x[i / 2] >> (i % 2 * 4) & 15u, exponent = bits >> 1 & 3u, mantissa = bits & 1u;
    const float magnitude = exponent == 0 ? 0.5f * static_cast<float>(mantissa)
                                          : static_cast<float>((2u + mantissa) << exponent) * 0.25f;
    return bits & 8u ? -magnitude : magnitude;
  }
  template <class Wide>
  static TCC_DEVICE unsigned char bits(Wide x, bool) {
    const float number = sticky_float(x), magnitude = fabsf(number);
    if (number != number) return 8;
    // Ties go to the even ones.
    const uint32 code = (magnitude > 0.25f ? 1u : 0u) + (magnitude >= 0.75f ? 1u : 0u) + (magnitude > 1.25f ? 1u : 0u) +
                        (magnitude >= 1.75f ? 1u : 0u) + (magnitude > 2.5f ? 1u : 0u) + (magnitude >= 3.5f ? 1u : 0u) +
                        (magnitude > 5.0f ? 1u : 0u);
    return static_cast<unsigned char>(code | (__float_as_uint(number) >> 28 & 8u));
  }
};

/// Integers of BITS, several a byte, the first in the low bits. Of floats the low bits of the 64-bit integer.
template <int BITS, bool SIGNED>
struct Packed {
  using Stored = unsigned char;
  static constexpr int kPerByte = 8 / BITS;
  static TCC_DEVICE int64 load(const unsigned char* x, int64 i) {
    const int bits = x[i / kPerByte] >> (i % kPerByte * BITS) & ((1 << BITS) - 1);
    return SIGNED && bits >> (BITS - 1) ? bits - (1 << BITS) : bits;
  }
  template <class Wide>
  static TCC_DEVICE unsigned char bits(Wide x, bool) {
    return static_cast<unsigned char>(static_cast<uint64>(ToInteger<int64, true, 64>::of(x)) & ((1u << BITS) - 1));
  }
};

/// A float64 as an element: integers saturate; what has 16 bits goes by way of float32.
template <class T>
TCC_DEVICE T from_double(double x) {
  if constexpr (sizeof(Plain<T>::load(nullptr, 0)) == sizeof(float)) {
    return Plain<T>::bits(static_cast<float>(x), false);
  } else {
    return Plain<T>::bits(x, false);
  }
}

//===- tcc.cast ----------------------------------------------------------------===//

/// A thread for each byte of packed results, for each element of others.
template <class From, class To>
TCC_DEVICE void cast_elements(const typename From::Stored* x, typename To::Stored* y, int64 count, bool saturate) {
  const int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at * To::kPerByte >= count) return;
  if constexpr (To::kPerByte == 1) {
    y[at] = To::bits(From::load(x, at), saturate);
  } else {
    uint32 byte = 0;
    for (int k = 0; k < To::kPerByte; ++k) {
      const int64 i = at * To::kPerByte + k;
      if (i < count) byte |= static_cast<uint32>(To::bits(From::load(x, i), saturate)) << (k * (8 / To::kPerByte));
    }
    y[at] = static_cast<unsigned char>(byte);
  }
}

}  // namespace tcc
