// Candidates that do what they should, and others.
#include "tcc/device.cuh"

extern "C" __global__ void __launch_bounds__(32) add(const float* a, const float* b, float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

extern "C" __global__ void __launch_bounds__(32) subtract(const float* a, const float* b, float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] - b[i];
}

// Leaves the last element alone.
extern "C" __global__ void __launch_bounds__(32) forget(const float* a, const float* b, float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) out[i] = a[i] + b[i];
}

extern "C" __global__ void __launch_bounds__(32) crash(const float* a, const float* b, float* out, long long n) {
  volatile float* nowhere = (volatile float*)(n - n);
  *nowhere = a[0];
}

extern "C" __global__ void __launch_bounds__(32) hang(const float* a, const float* b, float* out, long long n) {
  volatile long long i = 0;
  while (i <= n) i = i & 1;
}

// Overwrites its inputs.
extern "C" __global__ void __launch_bounds__(32) spoil(float* a, float* b, float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = a[i] + b[i];
  a[i] = 5.0f;
}

// b is added twice, by way of a temporary.
extern "C" __global__ void __launch_bounds__(32) halve(const float* b, float* temporary, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) temporary[i] = b[i] * 0.5f;
}
extern "C" __global__ void __launch_bounds__(32) add_halves(const float* a, const float* temporary, const float* one,
                                                            float* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + (temporary[i] + temporary[i]) * one[0];
}

extern "C" __global__ void __launch_bounds__(32) complain(const float* a, const float* b, float* out, long long n,
                                                          long long* error) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
  *error = 1;
}
