// Loads of tiles by TMA, alone and as wgmma takes them. The parts are left out where the architecture has them not.
#include "tcc/device.cuh"

#if defined(TCC_SIM) || __CUDA_ARCH__ >= 900
// So many bytes of a box at (x, y, z), in the order of shared memory.
__device__ void copy_out(const unsigned char* tile, unsigned char* out, int bytes, tcc::uint64* barrier) {
  tcc::mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
}
__device__ void start(tcc::uint64* barrier, int bytes) {
  tcc::mbarrier_init(barrier, 1);
  tcc::mbarrier_fence_init();
  tcc::mbarrier_arrive_expect_bytes(barrier, bytes);
}
extern "C" __global__ void __launch_bounds__(64) load_2d(const void*, unsigned char* out, int bytes, int x, int y, const TCC_GRID_CONSTANT tcc::TensorMap map) {
  TCC_DYNAMIC_SHARED(tile);
  __shared__ tcc::uint64 barrier;
  if (threadIdx.x == 0) {
    tcc::prefetch_map(map);
    start(&barrier, bytes);
    tcc::tensor_load(tile, map, x, y, &barrier);
  }
  __syncthreads();
  copy_out(tile, out, bytes, &barrier);
}
extern "C" __global__ void __launch_bounds__(64) load_3d(const void*, unsigned char* out, int bytes, int x, int y, int z, const TCC_GRID_CONSTANT tcc::TensorMap map) {
  TCC_DYNAMIC_SHARED(tile);
  __shared__ tcc::uint64 barrier;
  if (threadIdx.x == 0) {
    start(&barrier, bytes);
    tcc::tensor_load(tile, map, x, y, z, &barrier);
  }
  __syncthreads();
  copy_out(tile, out, bytes, &barrier);
}
// The tile is read before it is there.
extern "C" __global__ void __launch_bounds__(64) load_unawaited(const void*, unsigned char* out, int bytes, int x, int y, const TCC_GRID_CONSTANT tcc::TensorMap map) {
  TCC_DYNAMIC_SHARED(tile);
  __shared__ tcc::uint64 barrier;
  if (threadIdx.x == 0) {
    start(&barrier, bytes);
    tcc::tensor_load(tile, map, x, y, &barrier);
  }
  __syncthreads();
  if (threadIdx.x > 31) out[threadIdx.x] = tile[threadIdx.x];
  __syncthreads();
  tcc::mbarrier_wait(&barrier, 0);
}
// The tile does not start where the exchange of pieces does.
extern "C" __global__ void __launch_bounds__(32) load_misplaced(const void*, unsigned char* out, int bytes, int x, int y, const TCC_GRID_CONSTANT tcc::TensorMap map) {
  TCC_DYNAMIC_SHARED(tile);
  __shared__ tcc::uint64 barrier;
  if (threadIdx.x == 0) {
    start(&barrier, bytes);
    tcc::tensor_load(tile + 128, map, x, y, &barrier);
  }
  __syncthreads();
  copy_out(tile, out, 16, &barrier);
}
#endif

#if defined(TCC_SIM) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
// 64 rows of A by N columns of B, 64 of k. Each lies along k or along its rows; tiles come by TMA, 64 x 64 of 128 bytes a
// line at a time.
template <int N, bool kRowsA, bool kRowsB, class T>
__device__ void product(const tcc::TensorMap& a, const tcc::TensorMap& b, float* d, const T*) {
  TCC_DYNAMIC_SHARED(memory);
  __shared__ tcc::uint64 barrier;
  constexpr int kTile = 64 * 128;
  unsigned char *ta = memory, *tb = memory + kTile;
  if (threadIdx.x == 0) {
    start(&barrier, kTile * (1 + N / 64));
    tcc::tensor_load(ta, a, 0, 0, &barrier);
    for (int n = 0; n < N; n += 64) tcc::tensor_load(tb + n / 64 * kTile, b, kRowsB ? n : 0, kRowsB ? 0 : n, &barrier);
  }
  __syncthreads();
  tcc::mbarrier_wait(&barrier, 0);
  float r[N / 2];
  tcc::wgmma_fence();
  // 16 of k are 32 bytes of each line, or 16 lines.
  for (int k = 0; k < 4; ++k) {
    tcc::Wgmma<N, T, kRowsA, kRowsB>::multiply(
        r, tcc::wgmma_descriptor(ta + (kRowsA ? 2048 : 32) * k, kRowsA ? kTile : 16, 1024, tcc::Swizzle::k128),
        tcc::wgmma_descriptor(tb + (kRowsB ? 2048 : 32) * k, kRowsB ? kTile : 16, 1024, tcc::Swizzle::k128), k > 0);
  }
  tcc::wgmma_commit();
  tcc::wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) d[tcc::WgmmaLayout::d_row(threadIdx.x, i) * N + tcc::WgmmaLayout::d_column(threadIdx.x, i)] = r[i];
}
extern "C" __global__ void __launch_bounds__(128) product_k_k(const __half* a, const __half*, float* d, const TCC_GRID_CONSTANT tcc::TensorMap map_a, const TCC_GRID_CONSTANT tcc::TensorMap map_b) {
  product<128, false, false>(map_a, map_b, d, a);
}
extern "C" __global__ void __launch_bounds__(128) product_rows_k(const __nv_bfloat16* a, const __nv_bfloat16*, float* d, const TCC_GRID_CONSTANT tcc::TensorMap map_a, const TCC_GRID_CONSTANT tcc::TensorMap map_b) {
  product<64, true, false>(map_a, map_b, d, a);
}
extern "C" __global__ void __launch_bounds__(128) product_k_rows(const __half* a, const __half*, float* d, const TCC_GRID_CONSTANT tcc::TensorMap map_a, const TCC_GRID_CONSTANT tcc::TensorMap map_b) {
  product<256, false, true>(map_a, map_b, d, a);
}
extern "C" __global__ void __launch_bounds__(128) product_rows_rows(const __nv_bfloat16* a, const __nv_bfloat16*, float* d, const TCC_GRID_CONSTANT tcc::TensorMap map_a, const TCC_GRID_CONSTANT tcc::TensorMap map_b) {
  product<128, true, true>(map_a, map_b, d, a);
}
#endif

extern "C" __global__ void nothing() {}
