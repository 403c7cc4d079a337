// Determinants by elimination with partial pivoting in float64, a block for each matrix.
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

/// `matrices`: room for all of them, n * n each.
template <int THREADS, class T>
TCC_DEVICE void determinants(const T* x, T* y, double* matrices, int64 n) {
  const int64 first = static_cast<int64>(blockIdx.x) * n * n;
  double* a = matrices + first;
  __shared__ int64 pivot_row;
  for (int64 i = threadIdx.x; i < n * n; i += THREADS) a[i] = static_cast<double>(Plain<T>::load(x, first + i));
  double result = 1;
  for (int64 k = 0; k < n && result != 0; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) {
      int64 best = k;
      for (int64 i = k + 1; i < n; ++i)
        if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
      pivot_row = best;
    }
    __syncthreads();
    const int64 pivot = pivot_row;
    const double value = a[pivot * n + k];
    result *= pivot != k ? -value : value;
    __syncthreads();
    if (pivot != k) {
      for (int64 j = k + threadIdx.x; j < n; j += THREADS) {
        const double other = a[k * n + j];
        a[k * n + j] = a[pivot * n + j];
        a[pivot * n + j] = other;
      }
    }
    __syncthreads();
    for (int64 i = k + 1 + threadIdx.x; i < n && result != 0; i += THREADS) {
      const double factor = a[i * n + k] / value;
      for (int64 j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  if (threadIdx.x == 0) y[blockIdx.x] = from_double<T>(result);
}

}  // namespace tcc
