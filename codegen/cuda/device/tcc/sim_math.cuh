// CUDA's math functions that C's library does not have, bit casts and integer intrinsics.
#pragma once

#define TCC_SIM_INLINE inline __attribute__((always_inline, unused))

TCC_SIM_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
TCC_SIM_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
TCC_SIM_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
TCC_SIM_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
TCC_SIM_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
TCC_SIM_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

// Overloads for float of C's functions of double, as in CUDA.
#define TCC_SIM_FLOAT1(NAME) \
  TCC_SIM_INLINE float NAME(float x) { return NAME##f(x); }
#define TCC_SIM_FLOAT2(NAME) \
  TCC_SIM_INLINE float NAME(float x, float y) { return NAME##f(x, y); }
TCC_SIM_FLOAT1(acos) TCC_SIM_FLOAT1(acosh) TCC_SIM_FLOAT1(asin) TCC_SIM_FLOAT1(asinh) TCC_SIM_FLOAT1(atan)
TCC_SIM_FLOAT1(atanh) TCC_SIM_FLOAT1(cbrt) TCC_SIM_FLOAT1(ceil) TCC_SIM_FLOAT1(cos) TCC_SIM_FLOAT1(cosh)
TCC_SIM_FLOAT1(erf) TCC_SIM_FLOAT1(erfc) TCC_SIM_FLOAT1(exp) TCC_SIM_FLOAT1(exp2) TCC_SIM_FLOAT1(expm1)
TCC_SIM_FLOAT1(fabs) TCC_SIM_FLOAT1(floor) TCC_SIM_FLOAT1(lgamma) TCC_SIM_FLOAT1(log) TCC_SIM_FLOAT1(log10)
TCC_SIM_FLOAT1(log1p) TCC_SIM_FLOAT1(log2) TCC_SIM_FLOAT1(nearbyint) TCC_SIM_FLOAT1(rint) TCC_SIM_FLOAT1(round)
TCC_SIM_FLOAT1(sin) TCC_SIM_FLOAT1(sinh) TCC_SIM_FLOAT1(sqrt) TCC_SIM_FLOAT1(tan) TCC_SIM_FLOAT1(tanh)
TCC_SIM_FLOAT1(tgamma) TCC_SIM_FLOAT1(trunc)
TCC_SIM_FLOAT2(atan2) TCC_SIM_FLOAT2(copysign) TCC_SIM_FLOAT2(fdim) TCC_SIM_FLOAT2(fmax) TCC_SIM_FLOAT2(fmin)
TCC_SIM_FLOAT2(fmod) TCC_SIM_FLOAT2(hypot) TCC_SIM_FLOAT2(nextafter) TCC_SIM_FLOAT2(pow) TCC_SIM_FLOAT2(remainder)
#undef TCC_SIM_FLOAT1
#undef TCC_SIM_FLOAT2
TCC_SIM_INLINE float fma(float x, float y, float z) { return fmaf(x, y, z); }
TCC_SIM_INLINE float abs(float x) { return fabsf(x); }
TCC_SIM_INLINE double abs(double x) { return fabs(x); }
TCC_SIM_INLINE long long abs(long long x) { return x < 0 ? -x : x; }

TCC_SIM_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
TCC_SIM_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
TCC_SIM_INLINE float rsqrt(float x) { return rsqrtf(x); }
TCC_SIM_INLINE float exp10f(float x) { return powf(10.0f, x); }
TCC_SIM_INLINE float sinpif(float x) { return static_cast<float>(sin(3.14159265358979323846 * static_cast<double>(x))); }
TCC_SIM_INLINE float cospif(float x) { return static_cast<float>(cos(3.14159265358979323846 * static_cast<double>(x))); }
TCC_SIM_INLINE float normcdff(float x) { return static_cast<float>(0.5 * erfc(-0.70710678118654752440 * static_cast<double>(x))); }
TCC_SIM_INLINE void sincospi(double x, double* s, double* c) {
  *s = sin(3.14159265358979323846 * x), *c = cos(3.14159265358979323846 * x);
}
TCC_SIM_INLINE void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
TCC_SIM_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

// Approximations are exact here.
TCC_SIM_INLINE float __expf(float x) { return expf(x); }
TCC_SIM_INLINE float __exp10f(float x) { return exp10f(x); }
TCC_SIM_INLINE float __logf(float x) { return logf(x); }
TCC_SIM_INLINE float __log2f(float x) { return log2f(x); }
TCC_SIM_INLINE float __log10f(float x) { return log10f(x); }
TCC_SIM_INLINE float __powf(float x, float y) { return powf(x, y); }
TCC_SIM_INLINE float __sinf(float x) { return sinf(x); }
TCC_SIM_INLINE float __cosf(float x) { return cosf(x); }
TCC_SIM_INLINE float __tanhf(float x) { return tanhf(x); }
TCC_SIM_INLINE float __fdividef(float x, float y) { return x / y; }
TCC_SIM_INLINE float __frcp_rn(float x) { return 1.0f / x; }
TCC_SIM_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
TCC_SIM_INLINE float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
TCC_SIM_INLINE float __fadd_rn(float x, float y) { return x + y; }
TCC_SIM_INLINE float __fsub_rn(float x, float y) { return x - y; }
TCC_SIM_INLINE float __fmul_rn(float x, float y) { return x * y; }
TCC_SIM_INLINE float __fdiv_rn(float x, float y) { return x / y; }
TCC_SIM_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
TCC_SIM_INLINE double __dadd_rn(double x, double y) { return x + y; }
TCC_SIM_INLINE double __dmul_rn(double x, double y) { return x * y; }

// Saturate as the GPU's conversions do; NaN is 0.
namespace tcc_sim {
template <class I, class F>
TCC_SIM_INLINE I saturate(F x) {
  constexpr bool is_signed = static_cast<I>(-1) < 0;
  constexpr I top = is_signed ? static_cast<I>((1ull << (sizeof(I) * 8 - 1)) - 1) : static_cast<I>(-1);
  constexpr I bottom = is_signed ? static_cast<I>(-top - 1) : I(0);
  if (x != x) return 0;
  // 2^(bits) as a float is exact, top itself need not be.
  if (x >= static_cast<F>(top / 2 + 1) * 2) return top;
  if (x <= static_cast<F>(bottom)) return bottom;
  return static_cast<I>(x);
}
}  // namespace tcc_sim
TCC_SIM_INLINE int __float2int_rn(float x) { return ::tcc_sim::saturate<int>(rintf(x)); }
TCC_SIM_INLINE int __float2int_rz(float x) { return ::tcc_sim::saturate<int>(truncf(x)); }
TCC_SIM_INLINE int __float2int_rd(float x) { return ::tcc_sim::saturate<int>(floorf(x)); }
TCC_SIM_INLINE int __float2int_ru(float x) { return ::tcc_sim::saturate<int>(ceilf(x)); }
TCC_SIM_INLINE unsigned __float2uint_rn(float x) { return ::tcc_sim::saturate<unsigned>(rintf(x)); }
TCC_SIM_INLINE unsigned __float2uint_rz(float x) { return ::tcc_sim::saturate<unsigned>(truncf(x)); }
TCC_SIM_INLINE long long __float2ll_rn(float x) { return ::tcc_sim::saturate<long long>(rintf(x)); }
TCC_SIM_INLINE long long __float2ll_rz(float x) { return ::tcc_sim::saturate<long long>(truncf(x)); }
TCC_SIM_INLINE unsigned long long __float2ull_rz(float x) { return ::tcc_sim::saturate<unsigned long long>(truncf(x)); }
TCC_SIM_INLINE int __double2int_rz(double x) { return ::tcc_sim::saturate<int>(trunc(x)); }
TCC_SIM_INLINE unsigned __double2uint_rz(double x) { return ::tcc_sim::saturate<unsigned>(trunc(x)); }
TCC_SIM_INLINE long long __double2ll_rz(double x) { return ::tcc_sim::saturate<long long>(trunc(x)); }
TCC_SIM_INLINE unsigned long long __double2ull_rz(double x) { return ::tcc_sim::saturate<unsigned long long>(trunc(x)); }
TCC_SIM_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }

TCC_SIM_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
TCC_SIM_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TCC_SIM_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
TCC_SIM_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
TCC_SIM_INLINE int __ffs(int x) { return __builtin_ffs(x); }
TCC_SIM_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
TCC_SIM_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
TCC_SIM_INLINE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
TCC_SIM_INLINE unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>((1ull * x * y) >> 32); }
TCC_SIM_INLINE int __mulhi(int x, int y) { return static_cast<int>((1ll * x * y) >> 32); }
TCC_SIM_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
TCC_SIM_INLINE long long __mul64hi(long long x, long long y) { return static_cast<long long>((static_cast<__int128>(x) * y) >> 64); }
TCC_SIM_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(both >> ((selector >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
  return result;
}
TCC_SIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
TCC_SIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
TCC_SIM_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}

#define TCC_SIM_MINMAX(T)                                            \
  TCC_SIM_INLINE T min(T x, T y) { return y < x ? y : x; }           \
  TCC_SIM_INLINE T max(T x, T y) { return x < y ? y : x; }
TCC_SIM_MINMAX(int)
TCC_SIM_MINMAX(unsigned)
TCC_SIM_MINMAX(long)
TCC_SIM_MINMAX(unsigned long)
TCC_SIM_MINMAX(long long)
TCC_SIM_MINMAX(unsigned long long)
#undef TCC_SIM_MINMAX
TCC_SIM_INLINE float min(float x, float y) { return fminf(x, y); }
TCC_SIM_INLINE float max(float x, float y) { return fmaxf(x, y); }
TCC_SIM_INLINE double min(double x, double y) { return fmin(x, y); }
TCC_SIM_INLINE double max(double x, double y) { return fmax(x, y); }
