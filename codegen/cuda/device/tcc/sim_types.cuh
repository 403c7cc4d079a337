// CUDA's vector types.
#pragma once

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define TCC_SIM_VECTORS(T, NAME, A2, A4)                                                              \
  struct NAME##1 { T x; };                                                                            \
  struct __align__(A2) NAME##2 { T x, y; };                                                           \
  struct NAME##3 { T x, y, z; };                                                                      \
  struct __align__(A4) NAME##4 { T x, y, z, w; };                                                     \
  inline __attribute__((always_inline)) NAME##1 make_##NAME##1(T x) { return {x}; }                   \
  inline __attribute__((always_inline)) NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }           \
  inline __attribute__((always_inline)) NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }   \
  inline __attribute__((always_inline)) NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

TCC_SIM_VECTORS(signed char, char, 2, 4)
TCC_SIM_VECTORS(unsigned char, uchar, 2, 4)
TCC_SIM_VECTORS(short, short, 4, 8)
TCC_SIM_VECTORS(unsigned short, ushort, 4, 8)
TCC_SIM_VECTORS(int, int, 8, 16)
TCC_SIM_VECTORS(unsigned, uint, 8, 16)
TCC_SIM_VECTORS(long long, longlong, 16, 16)
TCC_SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
TCC_SIM_VECTORS(float, float, 8, 16)
TCC_SIM_VECTORS(double, double, 16, 16)
#undef TCC_SIM_VECTORS
