// Tiles whose sums several blocks share, each over its part of k. The block that comes last adds the parts up, always in
// the same order, and goes on with the sums as if it had made them alone.
#pragma once
#include "tcc/gemm_tile.cuh"

namespace tcc {
namespace gemm {

// `sums`: for each tile and each of the blocks that share it, the sums of all threads. `counters`: one for each tile.
template <class Acc>
struct Parts {
  static constexpr bool kPresent = true;
  Acc* sums;
  int* counters;
};
struct NoParts {
  static constexpr bool kPresent = false;
};

// The numbers in an array of arrays, in order.
template <class T>
struct Numbers {
  static constexpr int kCount = 1;
  template <class F>
  static TCC_DEVICE void each(T& number, int position, F f) {
    f(number, position);
  }
};
template <class T, int N>
struct Numbers<T[N]> {
  static constexpr int kCount = N * Numbers<T>::kCount;
  template <class F>
  static TCC_DEVICE void each(T (&array)[N], int position, F f) {
#pragma unroll
    for (int i = 0; i < N; ++i) Numbers<T>::each(array[i], position + i * Numbers<T>::kCount, f);
  }
};

// Writes the thread's sums; the last of a tile's blocks gets those of all. False: this block is not the last.
template <int kThreads, class Array, class Acc>
TCC_DEVICE bool add_parts(Array& array, const Parts<Acc>& parts, int splits) {
  using All = Numbers<Array>;
  constexpr int kChunk = 16 / static_cast<int>(sizeof(Acc)), kCount = All::kCount;
  static_assert(kCount % kChunk == 0, "whole vectors");
  Acc sums[kCount];
  const unsigned tile = blockIdx.x / static_cast<unsigned>(splits), part = blockIdx.x % static_cast<unsigned>(splits);
  // Threads write next to each other.
  Acc* const from = parts.sums + static_cast<size_t>(tile) * static_cast<size_t>(splits) * (kThreads * kCount) +
                    static_cast<int>(threadIdx.x) * kChunk;
  Acc* const mine = from + static_cast<size_t>(part) * (kThreads * kCount);
  All::each(array, 0, [&](Acc& sum, int i) { sums[i] = sum; });
#pragma unroll
  for (int i = 0; i < kCount; i += kChunk) {
    Vec<Acc, kChunk> chunk;
#pragma unroll
    for (int c = 0; c < kChunk; ++c) chunk[c] = sums[i + c];
    store_vec(mine + i * kThreads, chunk);
  }
  if (!is_last_of(parts.counters, tile, static_cast<unsigned>(splits))) return false;
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = Acc(0);
#pragma unroll 1
  for (int s = 0; s < splits; ++s) {
    const Acc* const at = from + static_cast<size_t>(s) * (kThreads * kCount);
#pragma unroll
    for (int i = 0; i < kCount; i += kChunk) {
      const Vec<Acc, kChunk> chunk = load_vec<kChunk>(at + i * kThreads);
#pragma unroll
      for (int c = 0; c < kChunk; ++c) sums[i + c] = multiply_add(chunk[c], Acc(1), sums[i + c]);
    }
  }
  All::each(array, 0, [&](Acc& sum, int i) { sum = sums[i]; });
  return true;
}

}  // namespace gemm
}  // namespace tcc
