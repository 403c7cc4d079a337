// Named barriers, mbarriers and copies in bulk, in the shapes that specialised warps use. The parts of sm_90 are left out
// where the architecture has them not.
#include "tcc/device.cuh"

// Warps hand a tile on, each to the next, without a barrier of the whole block.
extern "C" __global__ void __launch_bounds__(128) relay(int* out) {
  __shared__ int tile[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int value = lane;
  if (warp > 0) {
    tcc::barrier_sync(warp, 64);
    value = tile[warp - 1][lane ^ 1] + 1;
  }
  tile[warp][lane] = value;
  if (warp < 3) tcc::barrier_arrive(warp + 1, 64);
  out[threadIdx.x] = value;
}

#if defined(TCC_SIM) || __CUDA_ARCH__ >= 900
// One warp loads tiles of x into two stages, the others add them up.
extern "C" __global__ void __launch_bounds__(96) staged_sum(const float* x, float* out, int tiles) {
  __shared__ __align__(128) float stage[2][64];
  __shared__ tcc::uint64 full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      tcc::mbarrier_init(full + s, 1);
      tcc::mbarrier_init(empty + s, 64);
    }
    tcc::mbarrier_fence_init();
  }
  __syncthreads();
  if (threadIdx.x >= 64) {
    if (threadIdx.x == 64) {
      for (int t = 0; t < tiles; ++t) {
        const int s = t % 2;
        if (t >= 2) tcc::mbarrier_wait(empty + s, (t / 2 - 1) % 2);
        tcc::mbarrier_arrive_expect_bytes(full + s, 256);
        tcc::bulk_load(stage[s], x + 64 * t, 256, full + s);
      }
    }
    return;
  }
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    const int s = t % 2;
    tcc::mbarrier_wait(full + s, t / 2 % 2);
    sum += stage[s][63 - threadIdx.x];
    tcc::mbarrier_arrive(empty + s);
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(32) bulk_copy(const int* x, int* y) {
  __shared__ __align__(128) int tile[32];
  tile[threadIdx.x] = x[threadIdx.x] + 1;
  tcc::fence_async_shared();
  __syncwarp();
  if (threadIdx.x == 0) {
    tcc::bulk_store(y, tile, 128);
    tcc::bulk_commit();
    tcc::bulk_wait_read<0>();
  }
}

// A consumer reads without waiting for the bytes.
extern "C" __global__ void missing_mbarrier_wait(const float* x, float* out) {
  __shared__ __align__(128) float tile[64];
  __shared__ tcc::uint64 full;
  if (threadIdx.x == 0) {
    tcc::mbarrier_init(&full, 1);
    tcc::mbarrier_fence_init();
    tcc::mbarrier_arrive_expect_bytes(&full, 256);
    tcc::bulk_load(tile, x, 256, &full);
    tcc::mbarrier_wait(&full, 0);
  }
  out[threadIdx.x] = tile[threadIdx.x];  // mark: missing_mbarrier_wait
}
// Fewer bytes come than were announced.
extern "C" __global__ void missing_bytes(const float* x, float* out) {
  __shared__ __align__(128) float tile[64];
  __shared__ tcc::uint64 full;
  if (threadIdx.x == 0) {
    tcc::mbarrier_init(&full, 1);
    tcc::mbarrier_fence_init();
    tcc::mbarrier_arrive_expect_bytes(&full, 256);
    tcc::bulk_load(tile, x, 240, &full);
  }
  __syncthreads();
  tcc::mbarrier_wait(&full, 0);  // mark: missing_bytes
  out[threadIdx.x] = tile[threadIdx.x];
}
// A stage is filled again before the others are done with it.
extern "C" __global__ void overwritten_stage(const float* x, float* out) {
  __shared__ __align__(128) float tile[64];
  __shared__ tcc::uint64 full;
  if (threadIdx.x == 0) {
    tcc::mbarrier_init(&full, 1);
    tcc::mbarrier_fence_init();
  }
  __syncthreads();
  float sum = 0;
  for (int t = 0; t < 2; ++t) {
    if (threadIdx.x == 0) {
      tcc::mbarrier_arrive_expect_bytes(&full, 256);
      tcc::bulk_load(tile, x, 256, &full);
    }
    tcc::mbarrier_wait(&full, t);
    sum += tile[threadIdx.x];  // mark: overwritten_stage
  }
  out[threadIdx.x] = sum;
}
// Its memory may be read after the block is gone.
extern "C" __global__ void missing_bulk_wait(float* y) {
  __shared__ __align__(128) float tile[32];
  tile[threadIdx.x] = 1.0f;
  tcc::fence_async_shared();
  __syncwarp();
  if (threadIdx.x == 0) {
    tcc::bulk_store(y, tile, 128);  // mark: missing_bulk_wait
    tcc::bulk_commit();
  }
}
#endif
