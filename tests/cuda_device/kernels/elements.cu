// Vectors, conversions, atomics.
#include "tcc/device.cuh"

extern "C" __global__ void copy_vec16(const __half* x, __half* y, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i >= n) return;
  auto v = tcc::load_vec<8>(x + i);
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = tcc::from_float<__half>(tcc::to_float(v[j]) * 2.0f);
  tcc::store_vec(y + i, v);
}

extern "C" __global__ void copy_vec_sizes(const unsigned char* x, unsigned char* y) {
  const int t = threadIdx.x;
  tcc::store_vec(y + t, tcc::load_vec<1>(x + t));
  tcc::store_vec(y + 64 + 2 * t, tcc::load_vec<2>(x + 64 + 2 * t));
  tcc::store_vec(y + 256 + 4 * t, tcc::load_vec<4>(x + 256 + 4 * t));
  tcc::store_vec(y + 512 + 8 * t, tcc::load_vec<8>(x + 512 + 8 * t));
  tcc::store_vec(y + 1024 + 16 * t, tcc::load_vec<16>(x + 1024 + 16 * t));
}

// All bit patterns to float, and floats to bits.
extern "C" __global__ void from_16(const unsigned short* bits, float* f16, float* bf16) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  f16[i] = tcc::to_float(__ushort_as_half(bits[i]));
  bf16[i] = tcc::to_float(__ushort_as_bfloat16(bits[i]));
}
extern "C" __global__ void to_16(const float* x, unsigned short* f16, unsigned short* bf16) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  f16[i] = __half_as_ushort(tcc::from_float<__half>(x[i]));
  bf16[i] = __bfloat16_as_ushort(tcc::from_float<__nv_bfloat16>(x[i]));
}
extern "C" __global__ void from_8(float* out) {
  const unsigned char bits = threadIdx.x;
  out[threadIdx.x] = tcc::Float8E4M3FN::value(bits);
  out[256 + threadIdx.x] = tcc::Float8E4M3FNUZ::value(bits);
  out[512 + threadIdx.x] = tcc::Float8E5M2::value(bits);
  out[768 + threadIdx.x] = tcc::Float8E5M2FNUZ::value(bits);
}
extern "C" __global__ void to_8(const float* x, unsigned char* out, int n, int saturate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tcc::Float8E4M3FN::bits(x[i], saturate != 0);
  out[n + i] = tcc::Float8E4M3FNUZ::bits(x[i], saturate != 0);
  out[2 * n + i] = tcc::Float8E5M2::bits(x[i], saturate != 0);
  out[3 * n + i] = tcc::Float8E5M2FNUZ::bits(x[i], saturate != 0);
}
extern "C" __global__ void to_integers(const float* x, int* i32, unsigned* u32, long long* i64, unsigned long long* u64) {
  const int i = threadIdx.x;
  i32[i] = tcc::from_float<int>(x[i]);
  u32[i] = tcc::from_float<unsigned>(x[i]);
  i64[i] = tcc::from_float<long long>(x[i]);
  u64[i] = tcc::from_float<unsigned long long>(x[i]);
}

// out: sum, product, max, min of x, each thread its element.
template <class T>
__device__ void all_atomics(const T* x, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tcc::atomic_add(out, x[i]);
  tcc::atomic_mul(out + 1, x[i]);
  tcc::atomic_max(out + 2, x[i]);
  tcc::atomic_min(out + 3, x[i]);
}
extern "C" __global__ void atomics_f32(const float* x, float* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_f64(const double* x, double* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_f16(const __half* x, __half* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_bf16(const __nv_bfloat16* x, __nv_bfloat16* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_i8(const signed char* x, signed char* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_u8(const unsigned char* x, unsigned char* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_i16(const short* x, short* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_i32(const int* x, int* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_u32(const unsigned* x, unsigned* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_i64(const long long* x, long long* out) { all_atomics(x, out); }
extern "C" __global__ void atomics_u64(const unsigned long long* x, unsigned long long* out) { all_atomics(x, out); }
