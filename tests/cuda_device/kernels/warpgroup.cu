// wgmma. Only sm_90a has it.
#include "tcc/device.cuh"

#if defined(TCC_SIM) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
// a: 64 x 64, b: N x 64, both contiguous in k; d: 64 x N. Rows of 64 elements are 128 bytes.
template <int N, class T>
__device__ void product(const T* a, const T* b, float* d) {
  TCC_DYNAMIC_SHARED(memory);
  unsigned char *ta = memory, *tb = memory + 64 * 128;
  for (int i = threadIdx.x; i < (64 + N) * 8; i += 128) {  // pieces of 16 bytes
    const int row = i / 8, piece = i % 8;
    const T* source = row < 64 ? a + row * 64 : b + (row - 64) * 64;
    tcc::store_vec(reinterpret_cast<T*>(ta + row * 128 + (piece ^ row % 8) * 16), tcc::load_vec<8>(source + piece * 8));
  }
  tcc::fence_async_shared();
  __syncthreads();
  float r[N / 2];
  tcc::wgmma_fence();
  for (int k = 0; k < 4; ++k) {
    tcc::Wgmma<N, T>::multiply(r, tcc::wgmma_descriptor(ta + 32 * k, 16, 1024, tcc::Swizzle::k128),
                               tcc::wgmma_descriptor(tb + 32 * k, 16, 1024, tcc::Swizzle::k128), k > 0);
  }
  tcc::wgmma_commit();
  tcc::wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) d[tcc::WgmmaLayout::d_row(threadIdx.x, i) * N + tcc::WgmmaLayout::d_column(threadIdx.x, i)] = r[i];
}
extern "C" __global__ void __launch_bounds__(128) product_64_f16(const __half* a, const __half* b, float* d) { product<64>(a, b, d); }
extern "C" __global__ void __launch_bounds__(128) product_128_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) { product<128>(a, b, d); }
extern "C" __global__ void __launch_bounds__(128) product_256_f16(const __half* a, const __half* b, float* d) { product<256>(a, b, d); }
#endif

extern "C" __global__ void nothing() {}
