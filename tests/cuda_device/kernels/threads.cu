// Indices, shuffles, votes, barriers, dynamic shared memory.
#include "tcc/device.cuh"

extern "C" __global__ void write_indices(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + tcc::linear_thread();
}

extern "C" __global__ void shuffle(int* out, int which, int argument, int width) {
  const int lane = threadIdx.x, x = 100 + lane;
  int y = 0;
  if (which == 0) y = __shfl_sync(tcc::kFullMask, x, argument, width);
  if (which == 1) y = __shfl_up_sync(tcc::kFullMask, x, argument, width);
  if (which == 2) y = __shfl_down_sync(tcc::kFullMask, x, argument, width);
  if (which == 3) y = __shfl_xor_sync(tcc::kFullMask, x, argument, width);
  out[lane] = y;
}

// Lanes of a warp in groups that go different ways.
extern "C" __global__ void shuffle_parts(int* out) {
  const int lane = threadIdx.x;
  if (lane % 2 == 0) {
    out[lane] = __shfl_sync(0x55555555u, lane, 4);
  } else {
    out[lane] = __shfl_sync(0xaaaaaaaau, lane, 7);
    out[lane] += __shfl_sync(0xaaaaaaaau, lane, 9);
  }
}

extern "C" __global__ void votes(unsigned* out) {
  const int lane = threadIdx.x;
  out[lane] = __ballot_sync(tcc::kFullMask, lane % 3 == 0);
  out[32 + lane] = __any_sync(tcc::kFullMask, lane == 31) + 2 * __any_sync(tcc::kFullMask, lane == 40);
  out[64 + lane] = __all_sync(tcc::kFullMask, lane < 32) + 2 * __all_sync(tcc::kFullMask, lane != 5);
  out[96 + lane] = __match_any_sync(tcc::kFullMask, lane / 8);
}

extern "C" __global__ void barrier_reductions(int* out) {
  const int count = __syncthreads_count(threadIdx.x % 5 == 0);
  const int all = __syncthreads_and(threadIdx.x < 64), any = __syncthreads_or(threadIdx.x == 95);
  out[threadIdx.x] = count * 100 + all * 10 + any;
}

// Reverses each block's part through dynamic shared memory.
extern "C" __global__ void reverse(const float* x, float* y) {
  TCC_DYNAMIC_SHARED(memory);
  float* tile = reinterpret_cast<float*>(memory);
  const int base = blockIdx.x * blockDim.x;
  tile[threadIdx.x] = x[base + threadIdx.x];
  __syncthreads();
  y[base + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// Rows of a transposed tile are passed on within a warp only.
extern "C" __global__ void transpose_in_warp(const int* x, int* y) {
  __shared__ int tile[4][32][33];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) tile[warp][i][lane] = x[(warp * 32 + i) * 32 + lane];
  __syncwarp();
  for (int i = 0; i < 32; ++i) y[(warp * 32 + i) * 32 + lane] = tile[warp][lane][i];
}

// A block sums its part; the last one to be done sums the parts.
extern "C" __global__ void sum_by_last_block(const float* x, float* parts, unsigned* done, float* out) {
  __shared__ bool last;
  const float sum = tcc::block_reduce_sum<float, 64>(x[blockIdx.x * 64 + threadIdx.x]);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float total = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 64) total += parts[i];
  total = tcc::block_reduce_sum<float, 64>(total);
  if (threadIdx.x == 0) *out = total;
}

// All threads store the same code: not a race.
extern "C" __global__ void report(const int* index, int size, long long* error) {
  if (index[threadIdx.x] >= size) *error = 1;
}
