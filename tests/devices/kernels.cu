// Kernels of the device tests.
#include "tcc/device.cuh"

// out = a + b
extern "C" __global__ void __launch_bounds__(32) add(float* out, const float* a, const float* b, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

// out = in * factor
extern "C" __global__ void __launch_bounds__(32) scale(float* out, const float* in, long long n, long long factor) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * (float)factor;
}

// out[i] = in[index[i]]; an index that is none is an error.
extern "C" __global__ void __launch_bounds__(32) gather(float* out, const float* in, const long long* index, long long n,
                                                        long long extent, long long* error) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long from = index[i];
  if (from < 0 || from >= extent) {
    *error = 1;
    return;
  }
  out[i] = in[from];
}

// Writes one element too many.
extern "C" __global__ void __launch_bounds__(32) overrun(float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = 1.0f;
}

// out[i] = the sum of `parts` neighbours of in, each from a block of its own: `parts` blocks share a counter. A block
// whose number is *missing is an error, before it gets there.
extern "C" __global__ void __launch_bounds__(32) sum_parts(float* out, float* partial, const float* in,
                                                           const long long* missing, long long parts, long long* error,
                                                           int* counters) {
  const unsigned block = blockIdx.x, first = block / parts * parts;
  if (block == *missing) {
    *error = 1;
    return;
  }
  if (threadIdx.x == 0) partial[block] = in[block];
  if (!tcc::is_last_of(counters, block / parts, (unsigned)parts)) return;
  float sum = 0;
  for (int i = 0; i < parts; ++i) sum += partial[first + i];
  if (threadIdx.x == 0) out[block / parts] = sum;
}

// A tile of 8 by 4 at column x and row y.
extern "C" __global__ void __launch_bounds__(32) load_tile(float* out, const float*, long long x, long long y,
                                                           const TCC_GRID_CONSTANT tcc::TensorMap map) {
#if defined(TCC_SIM) || __CUDA_ARCH__ >= 900
  TCC_DYNAMIC_SHARED(memory);
  __shared__ tcc::uint64 full;
  if (threadIdx.x == 0) {
    tcc::mbarrier_init(&full, 1);
    tcc::mbarrier_fence_init();
    tcc::mbarrier_arrive_expect_bytes(&full, 128);
    tcc::tensor_load(memory, map, (int)x, (int)y, &full);
  }
  __syncthreads();
  tcc::mbarrier_wait(&full, 0);
  out[threadIdx.x] = reinterpret_cast<const float*>(memory)[threadIdx.x];
#endif
}
