// Elements as unsigned numbers of the same order.
#pragma once
#include "tcc/device.cuh"

namespace tcc {

/// Key: 4 bytes, or 8 for elements of 8. NaN is above every number, whatever its sign, and -0 is 0.
template <class T>
struct Ordered;

#define TCC_ORDERED_INTEGER(T, U, SIGN)                                                     \
  template <>                                                                               \
  struct Ordered<T> {                                                                       \
    using Key = U;                                                                          \
    static TCC_DEVICE Key key(T x) { return static_cast<U>(x) ^ static_cast<U>(SIGN); }     \
  };
TCC_ORDERED_INTEGER(signed char, uint32, 0x80000000u)
TCC_ORDERED_INTEGER(short, uint32, 0x80000000u)
TCC_ORDERED_INTEGER(int, uint32, 0x80000000u)
TCC_ORDERED_INTEGER(long long, uint64, 0x8000000000000000ull)
TCC_ORDERED_INTEGER(unsigned char, uint32, 0)
TCC_ORDERED_INTEGER(unsigned short, uint32, 0)
TCC_ORDERED_INTEGER(unsigned, uint32, 0)
TCC_ORDERED_INTEGER(unsigned long long, uint64, 0)
#undef TCC_ORDERED_INTEGER

template <>
struct Ordered<float> {
  using Key = uint32;
  static TCC_DEVICE Key key(float x) {
    if (x != x) return ~0u;
    const uint32 bits = x == 0.0f ? 0u : bit_cast<uint32>(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  }
};
template <>
struct Ordered<double> {
  using Key = uint64;
  static TCC_DEVICE Key key(double x) {
    if (x != x) return ~0ull;
    const uint64 bits = x == 0.0 ? 0ull : bit_cast<uint64>(x);
    return bits & 0x8000000000000000ull ? ~bits : bits | 0x8000000000000000ull;
  }
};
template <>
struct Ordered<__half> {
  using Key = uint32;
  static TCC_DEVICE Key key(__half x) { return Ordered<float>::key(to_float(x)); }
};
template <>
struct Ordered<__nv_bfloat16> {
  using Key = uint32;
  static TCC_DEVICE Key key(__nv_bfloat16 x) { return Ordered<float>::key(to_float(x)); }
};

/// Lines along an axis of a row-major tensor [.., length, ..], of which `inner` lie side by side.
struct Lines {
  int64 length, inner;
  /// Where element i of a line is.
  TCC_DEVICE int64 at(int64 line, int64 i) const { return (line / inner * length + i) * inner + line % inner; }
};

}  // namespace tcc
