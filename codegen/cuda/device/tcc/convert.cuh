// Conversions between element types.
#pragma once

#include "tcc/float16.cuh"

namespace tcc {

template <class T>
TCC_DEVICE float to_float(T x) {
  return static_cast<float>(x);
}

/// To a float type: rounded to nearest, ties to even. To an integer: towards zero, and saturated as the GPU does.
template <class T>
TCC_DEVICE T from_float(float x) {
  return static_cast<T>(x);
}
#define TCC_FROM_FLOAT(TYPE, EXPRESSION) \
  template <>                            \
  TCC_DEVICE TYPE from_float<TYPE>(float x) { return EXPRESSION; }
TCC_FROM_FLOAT(int32, __float2int_rz(x))
TCC_FROM_FLOAT(uint32, __float2uint_rz(x))
TCC_FROM_FLOAT(int64, __float2ll_rz(x))
TCC_FROM_FLOAT(uint64, __float2ull_rz(x))
#undef TCC_FROM_FLOAT

/// 8-bit floats. EXPONENT bits of exponent, MANTISSA of mantissa. FINITE (the types called "fn"): no infinities, all ones
/// is NaN. FNUZ: neither infinities nor a negative zero, whose bits are NaN, and a bias greater by one.
template <int EXPONENT, int MANTISSA, bool FINITE, bool FNUZ>
struct Float8 {
  static constexpr int kBias = (1 << (EXPONENT - 1)) - (FNUZ ? 0 : 1);
  static constexpr uint32 kNan = FNUZ ? 0x80u : 0x7fu;
  /// The bits of the largest finite number.
  static constexpr uint32 kMax = FNUZ ? 0x7fu : FINITE ? 0x7eu : (((1u << EXPONENT) - 1) << MANTISSA) - 1;

  static TCC_DEVICE float value(uint8 bits) {
    const uint32 magnitude = bits & 0x7fu;
    const uint32 exponent = magnitude >> MANTISSA, mantissa = magnitude & ((1u << MANTISSA) - 1);
    if (FNUZ ? bits == 0x80u : FINITE ? magnitude == 0x7fu : magnitude > kMax + 1) return quiet_nan();
    const uint32 sign = static_cast<uint32>(bits & 0x80u) << 24;
    if (!FNUZ && !FINITE && magnitude == kMax + 1) return __uint_as_float(sign | 0x7f800000u);
    if (exponent == 0) {  // mantissa * 2^(1 - bias - MANTISSA)
      const float scale = __uint_as_float(static_cast<uint32>(127 + 1 - kBias - MANTISSA) << 23);
      return __uint_as_float(__float_as_uint(static_cast<float>(mantissa) * scale) | sign);
    }
    return __uint_as_float(sign | (exponent + 127 - kBias) << 23 | mantissa << (23 - MANTISSA));
  }

  /// Rounded to nearest, ties to even. Beyond the largest number: that number if `saturate` (but NaN for infinities of
  /// FNUZ, as in ONNX), else infinity (NaN where the type has none).
  static TCC_DEVICE uint8 bits(float x, bool saturate) {
    const uint32 source = __float_as_uint(x), magnitude = source & 0x7fffffffu;
    const uint32 sign = source >> 24 & 0x80u;
    if (magnitude > 0x7f800000u) return static_cast<uint8>(FNUZ ? kNan : kNan | sign);
    uint32 result;
    constexpr uint32 kSmallestNormal = static_cast<uint32>(127 + 1 - kBias) << 23;
    if (magnitude < kSmallestNormal) {
      // Adding a number whose unit in the last place is the type's smallest rounds to it.
      const float magic = __uint_as_float(static_cast<uint32>(127 + 1 - kBias - MANTISSA + 23) << 23);
      result = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), magic)) - __float_as_uint(magic);
    } else {
      const uint32 rounded = magnitude + (1u << (22 - MANTISSA)) - 1 + (magnitude >> (23 - MANTISSA) & 1);
      result = (rounded >> (23 - MANTISSA)) - (static_cast<uint32>(127 - kBias) << MANTISSA);
    }
    if (result > kMax || magnitude == 0x7f800000u) {
      result = saturate && !(FNUZ && magnitude == 0x7f800000u) ? kMax : !FNUZ && !FINITE ? kMax + 1 : kNan;
    }
    if (FNUZ && (result == 0 || result == kNan)) return static_cast<uint8>(result);
    return static_cast<uint8>(result | sign);
  }
};
using Float8E4M3FN = Float8<4, 3, true, false>;
using Float8E4M3FNUZ = Float8<4, 3, false, true>;
using Float8E5M2 = Float8<5, 2, false, false>;
using Float8E5M2FNUZ = Float8<5, 2, false, true>;

}  // namespace tcc
