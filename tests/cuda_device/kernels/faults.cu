// Kernels that are wrong. The simulator must say so, with the line that has the mark the test looks for.
#include "tcc/device.cuh"

// A neighbour's element is read with no barrier after it was written.
extern "C" __global__ void missing_barrier(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[(threadIdx.x + 32) % 64];  // mark: missing_barrier
}
// The next round overwrites what other threads may still read.
extern "C" __global__ void missing_second_barrier(float* x) {
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = x[threadIdx.x] + i;
    __syncthreads();
    sum += tile[(threadIdx.x + 32) % 64];  // mark: missing_second_barrier
  }
  x[threadIdx.x] = sum;
}
// Lanes of a warp do not wait for each other; a shuffle in between does not order memory either.
extern "C" __global__ void missing_syncwarp(float* x) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  const float other = __shfl_xor_sync(tcc::kFullMask, x[threadIdx.x], 1);
  x[threadIdx.x] = tile[threadIdx.x ^ 1] + other;  // mark: missing_syncwarp
}
extern "C" __global__ void global_race(float* x) {
  x[(threadIdx.x + 1) % 64] = x[threadIdx.x] + 1.0f;  // mark: global_race
}
// Blocks run at the same time.
extern "C" __global__ void race_of_blocks(float* x) {
  if (threadIdx.x == 0) x[blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x] + 1.0f;  // mark: race_of_blocks
}
// The parts are published without a fence.
extern "C" __global__ void missing_fence(float* parts, unsigned* done, float* out) {
  parts[blockIdx.x] = 1.0f;
  if (atomicAdd(done, 1u) != gridDim.x - 1) return;
  float total = 0;
  for (int i = 0; i < gridDim.x; ++i) total += parts[i];  // mark: missing_fence
  *out = total;
}
extern "C" __global__ void plain_and_atomic(int* x) {
  if (threadIdx.x == 0) *x = 5;
  atomicAdd(x, 1);  // mark: plain_and_atomic
}
// The copy is read before it was waited for.
extern "C" __global__ void missing_wait(const float* x, float* y) {
  __shared__ __align__(16) float tile[128];
  tcc::cp_async16(tile + 4 * threadIdx.x, x + 4 * threadIdx.x);
  tcc::cp_async_commit();
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];  // mark: missing_wait
}
// The thread waited for its own copies, and reads those of others.
extern "C" __global__ void missing_barrier_after_wait(const float* x, float* y) {
  __shared__ __align__(16) float tile[256];
  tcc::cp_async16(tile + 4 * threadIdx.x, x + 4 * threadIdx.x);
  tcc::cp_async_commit();
  tcc::cp_async_wait<0>();
  y[threadIdx.x] = tile[threadIdx.x];  // mark: missing_barrier_after_wait
}
extern "C" __global__ void uninitialised(float* x) {
  __shared__ float tile[64];
  if (threadIdx.x < 63) tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x];  // mark: uninitialised
}

extern "C" __global__ void read_past_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i % n] = x[i];  // mark: read_past_end
}
extern "C" __global__ void write_before_start(float* x) {
  x[static_cast<long long>(threadIdx.x) - 1] = 0.0f;  // mark: write_before_start
}
extern "C" __global__ void shared_past_end(float* x) {
  __shared__ float first[32];
  __shared__ float second[32];
  first[threadIdx.x] = x[threadIdx.x];
  second[threadIdx.x + (x[0] > 0 ? 1 : 0)] = x[threadIdx.x];  // mark: shared_past_end
  __syncthreads();
  x[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}
extern "C" __global__ void dynamic_past_end(float* x) {
  TCC_DYNAMIC_SHARED(memory);
  reinterpret_cast<float*>(memory)[threadIdx.x] = x[threadIdx.x];  // mark: dynamic_past_end
}
extern "C" __global__ void null_pointer(float* x) {
  x[threadIdx.x] = 1.0f;  // mark: null_pointer
}
extern "C" __global__ void vector_past_end(const float* x, float* y) {
  tcc::store_vec(y + 4 * threadIdx.x, tcc::load_vec<4>(x + 4 * threadIdx.x));  // mark: vector_past_end
}

extern "C" __global__ void misaligned_vector(const float* x, float* y) {
  tcc::store_vec(y + 4 * threadIdx.x, tcc::load_vec<4>(x + 1 + 4 * threadIdx.x));  // mark: misaligned_vector
}
extern "C" __global__ void misaligned_element(const char* x, float* y) {
  y[threadIdx.x] = *reinterpret_cast<const float*>(x + 2);  // mark: misaligned_element
}
extern "C" __global__ void misaligned_async(const float* x, float* y) {
  __shared__ __align__(16) float tile[129];
  tcc::cp_async16(tile + 1 + 4 * threadIdx.x, x + 4 * threadIdx.x);  // mark: misaligned_async
  tcc::cp_async_wait_all();
  __syncthreads();
  y[threadIdx.x] = tile[1 + threadIdx.x];
}
extern "C" __global__ void misaligned_ldmatrix(unsigned* out) {
  __shared__ __align__(16) unsigned char tile[32 * 20];
  for (int i = 0; i < 20; ++i) tile[threadIdx.x * 20 + i] = i;
  __syncwarp();
  unsigned r[4];
  tcc::ldmatrix_x4(r, tile + 20 * threadIdx.x);  // mark: misaligned_ldmatrix
  out[threadIdx.x] = r[0];
}

// Half of the warp waits at a barrier, the other half in a shuffle that names all lanes.
extern "C" __global__ void barrier_in_branch(float* x) {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();  // mark: barrier_in_branch
    x[threadIdx.x] = 1.0f;
  } else {
    x[threadIdx.x] = __shfl_xor_sync(tcc::kFullMask, x[threadIdx.x], 1);
  }
}
extern "C" __global__ void different_barriers(float* x) {
  if (threadIdx.x % 2 == 0) {
    x[threadIdx.x] = 1.0f;
    __syncthreads();
    x[threadIdx.x] += 3.0f;
  } else {
    __syncthreads();  // mark: different_barriers
  }
}
extern "C" __global__ void shuffle_in_branch(float* x) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 20) v += __shfl_down_sync(tcc::kFullMask, v, 1);  // mark: shuffle_in_branch
  __syncthreads();
  x[threadIdx.x] = v;
}
extern "C" __global__ void mask_without_caller(float* x) {
  x[threadIdx.x] = __shfl_sync(0x0000ffffu, x[threadIdx.x], 0);  // mark: mask_without_caller
}
extern "C" __global__ void read_from_absent_lane(float* x) {
  float v = x[threadIdx.x];
  if (threadIdx.x >= 16) return;
  v += __shfl_xor_sync(tcc::kFullMask, v, 16);  // mark: read_from_absent_lane
  x[threadIdx.x] = v;
}
extern "C" __global__ void mma_in_branch(float* x) {
  float d[4] = {};
  const unsigned a[4] = {}, b[2] = {};
  if (threadIdx.x < 16) {
    tcc::mma_m16n8k16_f16(d, a, b);
    x[threadIdx.x] = d[0];
  } else {
    tcc::mma_m16n8k16_f16(d, a, b);  // mark: mma_in_branch
    x[threadIdx.x] = d[1] + 1.0f;
  }
}
// Fragments of A laid out as if rows and columns were swapped.
extern "C" __global__ void wrong_fragments(const __half* a, const __half* b, float* d) {
  __shared__ __align__(16) __half ta[16][24], tb[16][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) ta[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32) tb[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  float rd[4] = {};
  tcc::ldmatrix_x4_trans(ra, &ta[lane % 16][lane / 16 * 8]);
  tcc::ldmatrix_x2_trans(rb, &tb[lane % 16][0]);
  tcc::mma_m16n8k16<__half>(rd, ra, rb);
  for (int i = 0; i < 4; ++i) d[tcc::MmaLayout16::c_row(lane, i) * 8 + tcc::MmaLayout16::c_column(lane, i)] = rd[i];
}
