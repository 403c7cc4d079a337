// Storage of the floating-point types C++ does not have, and of packed integers: exact conversions in integer
// arithmetic, so that they do not depend on the rounding mode or on denormals being flushed. Formats: IEEE 754 (f16),
// OCP 8-bit FP (f8e4m3fn, f8e5m2), OCP microscaling MX (f8e8m0, f4e2m1), and the FNUZ kinds of
// https://arxiv.org/abs/2206.02915; saturation as in the table of ONNX's Cast operator.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/dtype.h"

namespace tcc {

// What a format does with its largest encodings.
enum class FloatKind : uint8_t {
  kIeee,    // exponent all ones: infinity and NaN
  kFn,      // finite but NaN: only the encoding of all ones is NaN, no infinity
  kFnuz,    // as kFn, but NaN is the encoding of -0, so there is no negative zero
  kFinite,  // neither NaN nor infinity
};

namespace float_internal {

// (-1)^negative * significand * 2^exponent, or one of the special values.
struct Unpacked {
  bool negative = false;
  bool nan = false;
  bool infinite = false;
  int exponent = 0;
  uint64_t significand = 0;
};

constexpr Unpacked Unpack(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  Unpacked u;
  u.negative = bits >> 63;
  if (exponent == 0x7ff) {
    u.nan = mantissa != 0;
    u.infinite = mantissa == 0;
  } else if (exponent == 0) {
    u.exponent = -1074;
    u.significand = mantissa;
  } else {
    u.exponent = exponent - 1075;
    u.significand = mantissa | uint64_t{1} << 52;
  }
  return u;
}

constexpr Unpacked Unpack(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t mantissa = bits & ((uint32_t{1} << 23) - 1);
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  Unpacked u;
  u.negative = bits >> 31;
  if (exponent == 0xff) {
    u.nan = mantissa != 0;
    u.infinite = mantissa == 0;
  } else if (exponent == 0) {
    u.exponent = -149;
    u.significand = mantissa;
  } else {
    u.exponent = exponent - 150;
    u.significand = mantissa | uint32_t{1} << 23;
  }
  return u;
}

template <typename T>
  requires std::is_integral_v<T>
constexpr Unpacked Unpack(T value) {
  Unpacked u;
  if constexpr (std::is_signed_v<T>) {
    u.negative = value < 0;
    u.significand =
        u.negative ? uint64_t{0} - static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  } else {
    u.significand = static_cast<uint64_t>(value);
  }
  return u;
}

// value >> shift, rounded to nearest, ties to even.
constexpr uint64_t ShiftRightRne(uint64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 64) return 0;
  if (shift == 64) return value > uint64_t{1} << 63 ? 1 : 0;
  const uint64_t rest = value & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t kept = value >> shift;
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

constexpr float PowerOfTwo(int exponent) {  // in float's range, denormals included
  return exponent >= -126 ? std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23)
                          : std::bit_cast<float>(uint32_t{1} << (exponent + 149));
}

}  // namespace float_internal

// A binary format with one sign bit, `kExponentBits` and `kMantissaBits`. Every value is exactly a float.
// Construction rounds to nearest, ties to even; what lies beyond the largest finite value becomes infinity, or NaN
// where the format has no infinity (kFinite: the largest value).
template <typename Bits, int kExponentBits, int kMantissaBits, int kBias, FloatKind kKind, DType kDType>
struct SmallFloat {
  using Storage = Bits;
  static constexpr int kMagnitudeBits = kExponentBits + kMantissaBits;
  static constexpr uint32_t kSignMask = uint32_t{1} << kMagnitudeBits;
  static constexpr uint32_t kInfinityBits = ((uint32_t{1} << kExponentBits) - 1) << kMantissaBits;  // kIeee only
  static constexpr uint32_t kMaxBits = kKind == FloatKind::kIeee ? kInfinityBits - 1
                                       : kKind == FloatKind::kFn ? kSignMask - 2
                                                                 : kSignMask - 1;
  static constexpr uint32_t kNanBits = kKind == FloatKind::kIeee ? kInfinityBits | uint32_t{1} << (kMantissaBits - 1)
                                       : kKind == FloatKind::kFn
                                           ? kSignMask - 1
                                           : kSignMask;  // kFnuz; kFinite has none: -0, as ml_dtypes

  Bits bits = 0;

  constexpr SmallFloat() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr explicit SmallFloat(T value) : bits(Encode(float_internal::Unpack(value), false)) {}

  static constexpr SmallFloat FromBits(Bits bits) {
    SmallFloat f;
    f.bits = bits;
    return f;
  }
  // Finite values beyond the range, and infinities of the kinds without FNUZ, become the largest finite value.
  template <typename T>
    requires std::is_arithmetic_v<T>
  static constexpr SmallFloat Saturating(T value) {
    return FromBits(Encode(float_internal::Unpack(value), true));
  }
  static constexpr SmallFloat Max() { return FromBits(static_cast<Bits>(kMaxBits)); }
  static constexpr SmallFloat Lowest() { return FromBits(static_cast<Bits>(kMaxBits | kSignMask)); }
  static constexpr SmallFloat Nan() { return FromBits(static_cast<Bits>(kNanBits)); }

  constexpr explicit operator float() const {
    if constexpr (kMagnitudeBits + 1 == 16 && kMantissaBits == 7) {
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);  // bf16 is the upper half of a float
    } else {
      const bool negative = (bits & kSignMask) != 0;
      const uint32_t magnitude = bits & (kSignMask - 1);
      const uint32_t sign = negative ? uint32_t{1} << 31 : 0;
      if (IsNan(bits)) return std::bit_cast<float>(sign | 0x7fc00000u);
      if (kKind == FloatKind::kIeee && magnitude == kInfinityBits) return std::bit_cast<float>(sign | 0x7f800000u);
      const uint32_t exponent = magnitude >> kMantissaBits;
      uint32_t mantissa = magnitude & ((uint32_t{1} << kMantissaBits) - 1);
      if (exponent == 0) {
        if (mantissa == 0) return std::bit_cast<float>(sign);
        // All of these formats' subnormals are normal floats: shift the leading one out.
        const int shift = kMantissaBits + 1 - std::bit_width(mantissa);
        mantissa = (mantissa << shift) & ((uint32_t{1} << kMantissaBits) - 1);
        return std::bit_cast<float>(sign | static_cast<uint32_t>(1 - shift - kBias + 127) << 23 |
                                    mantissa << (23 - kMantissaBits));
      }
      return std::bit_cast<float>(sign | (exponent - kBias + 127) << 23 | mantissa << (23 - kMantissaBits));
    }
  }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

  constexpr bool is_nan() const { return IsNan(bits); }

 private:
  static constexpr bool IsNan(uint32_t bits) {
    const uint32_t magnitude = bits & (kSignMask - 1);
    if constexpr (kKind == FloatKind::kIeee) return magnitude > kInfinityBits;
    if constexpr (kKind == FloatKind::kFn) return magnitude == kNanBits;
    if constexpr (kKind == FloatKind::kFnuz) return (bits & (kSignMask * 2 - 1)) == kNanBits;
    return false;
  }

  static constexpr Bits Encode(const float_internal::Unpacked& value, bool saturate) {
    const uint32_t sign = value.negative ? kSignMask : 0;
    if (value.nan)
      return static_cast<Bits>(kNanBits | (kKind == FloatKind::kFnuz || kKind == FloatKind::kFinite ? 0 : sign));
    constexpr uint32_t kOverflow = kKind == FloatKind::kIeee     ? kInfinityBits
                                   : kKind == FloatKind::kFinite ? kMaxBits
                                                                 : kNanBits;
    uint32_t magnitude = 0;
    if (value.infinite) {
      magnitude = saturate && kKind != FloatKind::kFnuz ? kMaxBits : kOverflow;
    } else if (value.significand != 0) {
      // The exponent of the value's leading bit, and the one of the unit in the last place of its encoding.
      const int leading = value.exponent + 63 - std::countl_zero(value.significand);
      const int normal = leading < 1 - kBias ? 1 - kBias : leading;
      const uint64_t rounded =
          float_internal::ShiftRightRne(value.significand, normal - kMantissaBits - value.exponent);
      // A carry out of the mantissa moves into the exponent by itself. (1 + mantissa counts one exponent already.)
      const int64_t encoded =
          (static_cast<int64_t>(normal + kBias - 1) << kMantissaBits) + static_cast<int64_t>(rounded);
      magnitude =
          encoded > static_cast<int64_t>(kMaxBits) ? (saturate ? kMaxBits : kOverflow) : static_cast<uint32_t>(encoded);
    }
    if constexpr (kKind == FloatKind::kFnuz) {
      if (magnitude == 0 || magnitude == kNanBits) return static_cast<Bits>(magnitude);
    }
    return static_cast<Bits>(magnitude | sign);
  }
};

using F16 = SmallFloat<uint16_t, 5, 10, 15, FloatKind::kIeee, DType::kF16>;
using BF16 = SmallFloat<uint16_t, 8, 7, 127, FloatKind::kIeee, DType::kBF16>;
using F8E4M3FN = SmallFloat<uint8_t, 4, 3, 7, FloatKind::kFn, DType::kF8E4M3FN>;
using F8E4M3FNUZ = SmallFloat<uint8_t, 4, 3, 8, FloatKind::kFnuz, DType::kF8E4M3FNUZ>;
using F8E5M2 = SmallFloat<uint8_t, 5, 2, 15, FloatKind::kIeee, DType::kF8E5M2>;
using F8E5M2FNUZ = SmallFloat<uint8_t, 5, 2, 16, FloatKind::kFnuz, DType::kF8E5M2FNUZ>;
// One value in the low four bits of a byte; in tensors two are packed in each byte (LoadPacked, StorePacked).
using F4E2M1 = SmallFloat<uint8_t, 2, 1, 1, FloatKind::kFinite, DType::kF4E2M1>;

enum class ScaleRounding : uint8_t { kUp, kDown, kNearest };

// A power of two from 2^-127 to 2^127, without sign and zero; 255 is NaN.
struct F8E8M0 {
  using Storage = uint8_t;
  uint8_t bits = 0;

  constexpr F8E8M0() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr explicit F8E8M0(T value) : F8E8M0(From(value, ScaleRounding::kNearest, false)) {}

  static constexpr F8E8M0 FromBits(uint8_t bits) {
    F8E8M0 f;
    f.bits = bits;
    return f;
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  static constexpr F8E8M0 Saturating(T value) {
    return From(value, ScaleRounding::kNearest, true);
  }
  // Negative values, infinities and NaN become NaN; zero and what lies below 2^-127 becomes 2^-127. Beyond 2^127: NaN,
  // or 2^127 if saturating. kNearest takes the exponent up from 1.5 on.
  template <typename T>
    requires std::is_arithmetic_v<T>
  static constexpr F8E8M0 From(T value, ScaleRounding rounding, bool saturate) {
    const float_internal::Unpacked u = float_internal::Unpack(value);
    if (u.nan) return FromBits(255);
    if (u.infinite) return FromBits(255);
    if (u.significand == 0) return FromBits(0);
    if (u.negative) return FromBits(255);
    const int width = 64 - std::countl_zero(u.significand);
    int exponent = u.exponent + width - 1;
    const uint64_t fraction = u.significand << (64 - width) << 1;  // below the leading one, at the top
    const bool up = rounding == ScaleRounding::kUp        ? fraction != 0
                    : rounding == ScaleRounding::kNearest ? fraction >= uint64_t{1} << 63
                                                          : false;
    exponent += up ? 1 : 0;
    if (exponent < -127) return FromBits(0);
    if (exponent > 127) return FromBits(saturate ? 254 : 255);
    return FromBits(static_cast<uint8_t>(exponent + 127));
  }

  constexpr explicit operator float() const {
    return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : float_internal::PowerOfTwo(bits - 127);
  }
  constexpr explicit operator double() const {
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::bit_cast<double>(static_cast<uint64_t>(bits - 127 + 1023) << 52);
  }
  constexpr bool is_nan() const { return bits == 255; }
};

template <>
inline constexpr DType kDTypeOf<F16> = DType::kF16;
template <>
inline constexpr DType kDTypeOf<BF16> = DType::kBF16;
template <>
inline constexpr DType kDTypeOf<F8E4M3FN> = DType::kF8E4M3FN;
template <>
inline constexpr DType kDTypeOf<F8E4M3FNUZ> = DType::kF8E4M3FNUZ;
template <>
inline constexpr DType kDTypeOf<F8E5M2> = DType::kF8E5M2;
template <>
inline constexpr DType kDTypeOf<F8E5M2FNUZ> = DType::kF8E5M2FNUZ;
template <>
inline constexpr DType kDTypeOf<F8E8M0> = DType::kF8E8M0;

// Element `index` of a packed array of `kBits`-wide fields (4 or 2), low bits first, as it is stored.
template <int kBits>
constexpr uint8_t LoadPacked(const uint8_t* data, int64_t index) {
  constexpr int kPerByte = 8 / kBits;
  return data[index / kPerByte] >> (index % kPerByte * kBits) & ((1 << kBits) - 1);
}
template <int kBits>
constexpr void StorePacked(uint8_t* data, int64_t index, uint8_t field) {
  constexpr int kPerByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  const int shift = static_cast<int>(index % kPerByte) * kBits;
  uint8_t& byte = data[index / kPerByte];
  byte = static_cast<uint8_t>((byte & ~(kMask << shift)) | (field & kMask) << shift);
}
// A packed field as a signed number.
template <int kBits>
constexpr int8_t SignExtend(uint8_t field) {
  return static_cast<int8_t>(static_cast<int8_t>(field << (8 - kBits)) >> (8 - kBits));
}

}  // namespace tcc
