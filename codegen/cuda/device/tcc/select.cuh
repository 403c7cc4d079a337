// The numbers of elements that hold a condition, in order: how many there are of each chunk, where those of a chunk
// begin, and the numbers.
#pragma once
#include "tcc/keys.cuh"
#include "tcc/reduce.cuh"

namespace tcc {

/// Not zero; NaN is not.
template <class T>
struct IsNonzero {
  const T* x;
  TCC_DEVICE bool operator()(int64 i) const { return x[i] != T(0); }
};
template <>
struct IsNonzero<__half> {
  const __half* x;
  TCC_DEVICE bool operator()(int64 i) const { return to_float(x[i]) != 0.0f; }
};
template <>
struct IsNonzero<__nv_bfloat16> {
  const __nv_bfloat16* x;
  TCC_DEVICE bool operator()(int64 i) const { return to_float(x[i]) != 0.0f; }
};

/// Chunks of THREADS * ITEMS elements, one for each block.
template <int THREADS, int ITEMS, class Holds>
TCC_DEVICE void count_selected(const Holds& holds, int64 length, int64* counts) {
  const int64 first = static_cast<int64>(blockIdx.x) * THREADS * ITEMS;
  int mine = 0;
  for (int k = 0; k < ITEMS; ++k) {
    const int64 i = first + k * THREADS + threadIdx.x;
    if (i < length && holds(i)) ++mine;
  }
  const int all = block_reduce_sum<int, THREADS>(mine);
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

/// By one block: the sum of what came before in place of each count, and of all.
template <int THREADS>
TCC_DEVICE void offsets_of(int64* counts, int64 length, long long* total) {
  int64 before = 0;
  for (int64 base = 0; base < length; base += THREADS) {
    const int64 i = base + threadIdx.x;
    const int64 mine = i < length ? counts[i] : 0;
    int64 all;
    const int64 through = block_scan<THREADS>(mine, Sum<int64>(), all);
    if (i < length) counts[i] = before + through - mine;
    before += all;
  }
  if (threadIdx.x == 0) *total = before;
}

/// `use(n, i)`: element i is the n-th that holds.
template <int THREADS, int ITEMS, class Holds, class Use>
TCC_DEVICE void for_selected(const Holds& holds, int64 length, const int64* offsets, const Use& use) {
  const int64 first = static_cast<int64>(blockIdx.x) * THREADS * ITEMS;
  int64 before = offsets[blockIdx.x];
  for (int k = 0; k < ITEMS; ++k) {
    const int64 i = first + k * THREADS + threadIdx.x;
    const bool held = i < length && holds(i);
    int all;
    const int through = block_scan<THREADS>(held ? 1 : 0, Sum<int>(), all);
    if (held) use(before + through - 1, i);
    before += all;
  }
}

/// Compress: elements of lines at the selected numbers. A number beyond the line is reported.
template <class T>
TCC_DEVICE void copy_selected(const T* x, T* y, const Lines& lines, const int64* numbers, int64 selected, int64 outer,
                              long long* error) {
  const Lines results = {selected, lines.inner};
  const int64 count = outer * selected * lines.inner;
  for (int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; index < count;
       index += static_cast<int64>(gridDim.x) * blockDim.x) {
    const int64 inner = index % results.inner, i = index / results.inner % selected, o = index / results.inner / selected;
    const int64 from = numbers[i];
    if (from >= lines.length) {
      report_error(error, 1);  // kTccIndexOutOfRange
      continue;
    }
    y[index] = x[(o * lines.length + from) * lines.inner + inner];
  }
}

}  // namespace tcc
