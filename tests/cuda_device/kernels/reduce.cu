// Reductions, scans and accumulators over a block of 128 threads (96: not a power of two of warps).
#include "tcc/device.cuh"

template <class T>
__device__ void all_reductions(const T* x, T* out) {
  const int t = threadIdx.x;
  const T v = x[t];
  T* mine = out + t * 8;
  mine[0] = tcc::block_reduce_sum<T, 128>(v);
  mine[1] = tcc::block_reduce_prod<T, 128>(v);
  mine[2] = tcc::block_reduce_max<T, 128>(v);
  mine[3] = tcc::block_reduce_min<T, 128>(v);
  mine[4] = tcc::warp_reduce_sum(v);
  mine[5] = tcc::warp_reduce_max<8>(v);
  T total;
  mine[6] = tcc::block_scan<128>(v, tcc::Sum<T>(), total);
  mine[7] = total;
}
extern "C" __global__ void __launch_bounds__(128) reduce_f32(const float* x, float* out) { all_reductions(x, out); }
extern "C" __global__ void __launch_bounds__(128) reduce_f64(const double* x, double* out) { all_reductions(x, out); }
extern "C" __global__ void __launch_bounds__(128) reduce_i32(const int* x, int* out) { all_reductions(x, out); }
extern "C" __global__ void __launch_bounds__(128) reduce_i64(const long long* x, long long* out) { all_reductions(x, out); }

extern "C" __global__ void __launch_bounds__(96) reduce_96(const int* x, int* out) {
  out[threadIdx.x] = tcc::block_reduce_sum<int, 96>(x[threadIdx.x]);
}

// One after the other, with nothing in between.
extern "C" __global__ void __launch_bounds__(128) repeated(const int* x, int* out, int times) {
  int sum = 0;
  for (int i = 0; i < times; ++i) sum = tcc::block_reduce_sum<int, 128>(x[threadIdx.x] + sum % 7);
  out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) arg_reductions(const float* x, long long* out) {
  const tcc::ValueIndex<float> v = {x[threadIdx.x], static_cast<long long>(threadIdx.x)};
  const auto greatest = tcc::block_reduce<128>(v, tcc::ArgMax<float>());
  const auto least = tcc::block_reduce<128>(v, tcc::ArgMin<float>());
  if (threadIdx.x == 77) out[0] = greatest.index, out[1] = least.index;
}

// Each thread takes several elements of the row of its block.
extern "C" __global__ void __launch_bounds__(128) welford(const float* x, float* out, int n) {
  tcc::Welford w = tcc::Welford::empty();
  for (int i = threadIdx.x; i < n; i += 128) w.add(x[static_cast<long long>(blockIdx.x) * n + i]);
  w = tcc::block_reduce_welford<128>(w);
  if (threadIdx.x == 3) out[3 * blockIdx.x] = w.mean, out[3 * blockIdx.x + 1] = w.variance(), out[3 * blockIdx.x + 2] = w.count;
}

extern "C" __global__ void __launch_bounds__(128) softmax(const float* x, float* y, int n) {
  const float* row = x + static_cast<long long>(blockIdx.x) * n;
  tcc::OnlineSoftmax s = tcc::OnlineSoftmax::empty();
  for (int i = threadIdx.x; i < n; i += 128) s.add(row[i]);
  s = tcc::block_reduce_softmax<128>(s);
  for (int i = threadIdx.x; i < n; i += 128) y[static_cast<long long>(blockIdx.x) * n + i] = s.probability(row[i]);
}
