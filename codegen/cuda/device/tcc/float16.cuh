// The 16-bit floats, under the names of the CUDA toolkit but without its headers, which NVRTC does not bring. A text that
// includes cuda_fp16.h or cuda_bf16.h before this file gets those instead.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

// Rounded to nearest, ties to even; NaN stays NaN.
#ifdef TCC_SIM
TCC_DEVICE uint16 f16_bits(float x) { return __builtin_bit_cast(uint16, static_cast<_Float16>(x)); }
TCC_DEVICE float f16_value(uint16 bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
TCC_DEVICE uint16 bf16_bits(float x) {
  const uint32 bits = __float_as_uint(x);
  if (x != x) return 0x7fff;
  return static_cast<uint16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#else
TCC_DEVICE uint16 f16_bits(float x) {
  uint16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
TCC_DEVICE float f16_value(uint16 bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
TCC_DEVICE uint16 bf16_bits(float x) {
  uint16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif
TCC_DEVICE float bf16_value(uint16 bits) { return __uint_as_float(static_cast<uint32>(bits) << 16); }

/// Stored in 16 bits of some format, computed in as float.
template <class Format>
struct __align__(2) Float16 {
  unsigned short bits;
  Float16() = default;
  TCC_DEVICE Float16(float x) : bits(Format::bits(x)) {}
  TCC_DEVICE operator float() const { return Format::value(bits); }
};
template <class T>
struct __align__(4) Float16x2 {
  T x, y;
};
template <class T>
TCC_DEVICE T from_bits16(unsigned short bits) {
  T x;
  x.bits = bits;
  return x;
}
struct FormatF16 {
  static TCC_DEVICE uint16 bits(float x) { return f16_bits(x); }
  static TCC_DEVICE float value(uint16 bits) { return f16_value(bits); }
};
struct FormatBf16 {
  static TCC_DEVICE uint16 bits(float x) { return bf16_bits(x); }
  static TCC_DEVICE float value(uint16 bits) { return bf16_value(bits); }
};

}  // namespace tcc

#ifndef __CUDA_FP16_H__
using __half = ::tcc::Float16<::tcc::FormatF16>;
using __half2 = ::tcc::Float16x2<__half>;
using half = __half;
TCC_DEVICE float __half2float(__half x) { return x; }
TCC_DEVICE __half __float2half(float x) { return __half(x); }
TCC_DEVICE __half __float2half_rn(float x) { return __half(x); }
TCC_DEVICE unsigned short __half_as_ushort(__half x) { return x.bits; }
TCC_DEVICE __half __ushort_as_half(unsigned short bits) { return ::tcc::from_bits16<__half>(bits); }
#endif

#ifndef __CUDA_BF16_H__
using __nv_bfloat16 = ::tcc::Float16<::tcc::FormatBf16>;
using __nv_bfloat162 = ::tcc::Float16x2<__nv_bfloat16>;
TCC_DEVICE float __bfloat162float(__nv_bfloat16 x) { return x; }
TCC_DEVICE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
TCC_DEVICE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
TCC_DEVICE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
TCC_DEVICE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return ::tcc::from_bits16<__nv_bfloat16>(bits); }
#endif
