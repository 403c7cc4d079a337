// cp.async, ldmatrix and mma.sync, as plainly as can be: what goes in and out is laid out by the test.
#include "tcc/device.cuh"

// What is in shared memory before and after the wait, and with fewer source bytes than copied ones.
extern "C" __global__ void async_copies(const int* x, int* out) {
  __shared__ __align__(16) int tile[128 + 128 + 32 + 64];
  const int t = threadIdx.x;
  tcc::cp_async16(tile + 4 * t, x + 4 * t);
  tcc::cp_async_commit();
  tcc::cp_async16(tile + 128 + 4 * t, x + 4 * t, t % 5 * 4 > 16 ? 16 : t % 5 * 4);
  tcc::cp_async4(tile + 256 + t, x + t);
  tcc::cp_async8(tile + 288 + 2 * t, x + 2 * t, 4);
  tcc::cp_async_commit();
  tcc::cp_async_wait<1>();
  __syncthreads();
  for (int i = t; i < 128; i += 32) out[i] = tile[i];
  tcc::cp_async_wait<0>();
  __syncthreads();
  for (int i = t; i < 128 + 32 + 64; i += 32) out[128 + i] = tile[128 + i];
}

// 64 rows of 16 bytes, in shared memory 80 bytes apart so that rows of a matrix have different banks.
extern "C" __global__ void load_matrices(const uint4* x, unsigned* out) {
  __shared__ __align__(16) unsigned char tile[32 * 80];
  const int lane = threadIdx.x;
  *reinterpret_cast<uint4*>(tile + lane * 80) = x[lane];
  __syncwarp();
  const void* row = tile + lane * 80;
  unsigned r1[1], r2[2], r4[4];
  tcc::ldmatrix_x1(r1, row);
  out[lane] = r1[0];
  tcc::ldmatrix_x2(r2, row);
  for (int i = 0; i < 2; ++i) out[32 * (1 + i) + lane] = r2[i];
  tcc::ldmatrix_x4(r4, row);
  for (int i = 0; i < 4; ++i) out[32 * (3 + i) + lane] = r4[i];
  tcc::ldmatrix_x1_trans(r1, row);
  out[32 * 7 + lane] = r1[0];
  tcc::ldmatrix_x2_trans(r2, row);
  for (int i = 0; i < 2; ++i) out[32 * (8 + i) + lane] = r2[i];
  tcc::ldmatrix_x4_trans(r4, row);
  for (int i = 0; i < 4; ++i) out[32 * (10 + i) + lane] = r4[i];
}

template <class C, class Mma>
__device__ void multiply(const unsigned* a, const unsigned* b, C* d, Mma mma) {
  const int lane = threadIdx.x;
  unsigned ra[4], rb[2];
  C rd[4];
  for (int i = 0; i < 4; ++i) ra[i] = a[lane * 4 + i], rd[i] = d[lane * 4 + i];
  for (int i = 0; i < 2; ++i) rb[i] = b[lane * 2 + i];
  mma(rd, ra, rb);
  for (int i = 0; i < 4; ++i) d[lane * 4 + i] = rd[i];
}
extern "C" __global__ void m16n8k16_f16(const unsigned* a, const unsigned* b, float* d) {
  multiply(a, b, d, [](float(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k16_f16(rd, ra, rb); });
}
extern "C" __global__ void m16n8k16_bf16(const unsigned* a, const unsigned* b, float* d) {
  multiply(a, b, d, [](float(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k16_bf16(rd, ra, rb); });
}
extern "C" __global__ void m16n8k8_tf32(const unsigned* a, const unsigned* b, float* d) {
  multiply(a, b, d, [](float(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k8_tf32(rd, ra, rb); });
}
extern "C" __global__ void m16n8k32_s8s8(const unsigned* a, const unsigned* b, int* d) {
  multiply(a, b, d, [](int(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k32_s8s8(rd, ra, rb); });
}
extern "C" __global__ void m16n8k32_u8u8(const unsigned* a, const unsigned* b, int* d) {
  multiply(a, b, d, [](int(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k32_u8u8(rd, ra, rb); });
}
extern "C" __global__ void m16n8k32_s8u8(const unsigned* a, const unsigned* b, int* d) {
  multiply(a, b, d, [](int(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k32_s8u8(rd, ra, rb); });
}
extern "C" __global__ void m16n8k32_u8s8(const unsigned* a, const unsigned* b, int* d) {
  multiply(a, b, d, [](int(&rd)[4], const unsigned(&ra)[4], const unsigned(&rb)[2]) { tcc::mma_m16n8k32_u8s8(rd, ra, rb); });
}

// A 16 x 16 by 16 x 8 product the way kernels do it: rows of A and of B through shared memory and ldmatrix.
extern "C" __global__ void product_f16(const __half* a, const __half* b, float* d) {
  __shared__ __align__(16) __half ta[16][24], tb[16][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) ta[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32) tb[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  float rd[4] = {};
  tcc::ldmatrix_x4(ra, &ta[lane % 16][lane / 16 * 8]);
  tcc::ldmatrix_x2_trans(rb, &tb[lane % 16][0]);
  tcc::mma_m16n8k16<__half>(rd, ra, rb);
  for (int i = 0; i < 4; ++i) d[tcc::MmaLayout16::c_row(lane, i) * 8 + tcc::MmaLayout16::c_column(lane, i)] = rd[i];
}

extern "C" __global__ void round_tf32(const float* x, unsigned* out) { out[threadIdx.x] = tcc::to_tf32(x[threadIdx.x]); }
