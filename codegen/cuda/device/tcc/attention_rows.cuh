// Attention of heads that are too wide for tiles in registers: one query a block, any depth and width that shared memory
// and registers hold. Operands, mask and epilogue are those of attention.cuh.
#pragma once
#include "tcc/attention.cuh"

namespace tcc {
namespace attention {

// Keys at a time: a lane of the first warp for each.
inline constexpr int kRowKeys = 32;

// Dynamic shared memory: the query, weights of kRowKeys keys, and one more number.
template <class Acc, int kDepth>
struct RowLayout {
  static constexpr int kBytes = (kDepth + kRowKeys + 1) * static_cast<int>(sizeof(Acc));
};

template <int kThreads, int kDepth, int kWidth, bool kCausal, MaskedRows kMaskedRows, class Acc, class Q, class K,
          class V, class Mask, class Epilogue, class Index>
TCC_DEVICE void attend_rows(const Q& q, const K& k, const V& v, const Extents<Index>& extents, const Mask& mask,
                            const Epilogue& epilogue) {
  constexpr int kWarps = kThreads / 32, kColumns = (kWidth + kThreads - 1) / kThreads;
  TCC_DYNAMIC_SHARED(memory);
  Acc* query = reinterpret_cast<Acc*>(memory);
  Acc *weights = query + kDepth, *common = weights + kRowKeys;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Index g = static_cast<Index>(blockIdx.x) / extents.queries;
  // With a causal mask the last queries take longest: they come first.
  const Index row = extents.queries - 1 - static_cast<Index>(blockIdx.x) % extents.queries;
  const Index key_head = g / extents.group;
  Index end = extents.keys;
  if constexpr (kCausal) {
    const Index seen = row + extents.keys - extents.queries + 1;
    end = seen < 0 ? Index(0) : seen < end ? seen : end;
  }

  const gemm::ElementReader<Q> read_q(q, g, row);
  for (int i = thread; i < kDepth; i += kThreads) query[i] = static_cast<Acc>(read_q(Index(i)));
  Acc result[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) result[c] = Acc(0);
  // Scores are in units of log 2, so that weights are powers of two.
  const Acc scale = static_cast<Acc>(extents.scale * 1.4426950408889634), log2e = static_cast<Acc>(1.4426950408889634);
  const Acc lowest = -static_cast<Acc>(infinity());
  Acc top = lowest, total(0);  // of the first warp
  __syncthreads();

#pragma unroll 1
  for (Index t0 = 0; t0 < end; t0 += kRowKeys) {
    for (int j = warp; j < kRowKeys; j += kWarps) {
      const Index key = t0 + j;
      Acc score = lowest;
      if (key < end) {
        const gemm::ElementReader<K> read_k(k, key_head, key);
        Acc sum(0);
#pragma unroll 4
        for (int i = lane; i < kDepth; i += 32)
          sum = multiply_add(query[i], static_cast<Acc>(read_k(Index(i))), sum);
        score = warp_reduce_sum(sum) * scale;
        if constexpr (Mask::kPresent) score = multiply_add(static_cast<Acc>(mask(g, row, key)), log2e, score);
      }
      if (lane == 0) weights[j] = score;
    }
    __syncthreads();
    if (warp == 0) {
      const Acc score = weights[lane];
      Acc now = score > top ? score : top;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const Acc other = __shfl_xor_sync(kFullMask, now, step);
        now = other > now ? other : now;
      }
      // Nothing seen yet: any finite number will do.
      const Acc base = now == lowest ? Acc(0) : now, weight = exp2_of(score - base), factor = exp2_of(top - base);
      total = total * factor + warp_reduce_sum(weight);
      top = now;
      weights[lane] = weight;
      if (lane == 0) *common = factor;
    }
    __syncthreads();
    const Acc factor = *common;
    const int keys = end - t0 < kRowKeys ? static_cast<int>(end - t0) : kRowKeys;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = thread + c * kThreads;
      if (column >= kWidth) break;
      const gemm::ElementReader<V> read_v(v, key_head, Index(column));
      Acc sum = result[c] * factor;
#pragma unroll 4
      for (int j = 0; j < keys; ++j) sum = multiply_add(weights[j], static_cast<Acc>(read_v(t0 + j)), sum);
      result[c] = sum;
    }
    __syncthreads();
  }

  if (thread == 0) {
    // Without a key the sum is zero and the results are too: the inverse makes them NaN.
    const bool zero = kMaskedRows == MaskedRows::kNan ? extents.keys == 0 : total == Acc(0);
    weights[0] = zero ? Acc(0) : Acc(1) / total;
    weights[1] = kMaskedRows == MaskedRows::kGuarded && total != total ? Acc(1) : Acc(0);
  }
  __syncthreads();
  const Acc inverse = weights[0];
  const bool clear = weights[1] != Acc(0);
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int column = thread + c * kThreads;
    if (column < kWidth) epilogue(g, row, Index(column), clear ? Acc(0) : result[c] * inverse);
  }
}

}  // namespace attention
}  // namespace tcc
