// Attention without the score matrix in memory: online softmax over tiles of keys (https://arxiv.org/abs/2205.14135).
//
// A block makes the results of one tile of queries of one head. Operands are those of gemm_tile.cuh: queries (g, query,
// depth) and keys (g, key, depth) as rows by k, values (g, column, key) as columns by k, where g counts the heads of all
// batches: query heads for the queries, key heads for the others. Tiles of keys are fetched while the weights of the
// tile before meet their values, and tiles of values while scores are computed.
//
// The mask is a functor of the kernel's text: `Acc operator()(Index g, Index query, Index key) const` is added to the
// scaled score (kPresent: whether there is one). The epilogue is that of gemm.cuh, with queries for rows.
#pragma once
#include "tcc/attention_mma.cuh"
#include "tcc/attention_simt.cuh"

namespace tcc {
namespace attention {

struct NoMask {
  static constexpr bool kPresent = false;
};

// What a row is where every key is excluded, and softmax has no meaning.
enum class MaskedRows {
  kNan,
  kZero,
  kGuarded,  // any row of NaN weights is zero, also those of scores that are NaN or infinite
};

template <class Index>
struct Extents {
  Index heads;      // query heads of all batches
  Index group;      // query heads for each key head
  Index queries, keys;
  int depth, width;
  double scale;
};

template <class Engine, class Q, class K, class V>
struct Layout {
  using T = typename Engine::T;
  using Block = typename Engine::template Block<Q, K, V>;
  static constexpr int kQueries = 0, kKeys = kQueries + Block::ShapeQ::kElements,
                       kValues = kKeys + Block::ShapeK::kElements, kWeights = kValues + Block::ShapeV::kElements,
                       kElements = kWeights + Block::kWeights;
  static constexpr int kSliceElements = Engine::kWarpQueries * Block::kPitch;
  static constexpr int kTileBytes = kElements * static_cast<int>(sizeof(T));
  static constexpr int kSliceBytes =
      kSliceElements * Engine::kThreads / 32 * static_cast<int>(sizeof(typename Engine::Acc));
  static constexpr int kBytes = kTileBytes > kSliceBytes ? kTileBytes : kSliceBytes;
};

template <class Engine, bool kCausal, MaskedRows kMaskedRows, class Q, class K, class V, class Mask, class Epilogue,
          class Index>
TCC_DEVICE void attend(const Q& q, const K& k, const V& v, const Extents<Index>& extents,
                                       const Mask& mask, const Epilogue& epilogue) {
  using T = typename Engine::T;
  using Acc = typename Engine::Acc;
  using L = Layout<Engine, Q, K, V>;
  using Block = typename L::Block;
  constexpr int kTileQueries = Engine::kTileQueries, kTileKeys = Engine::kTileKeys, kThreads = Engine::kThreads;
  TCC_DYNAMIC_SHARED(memory);
  T* tiles = reinterpret_cast<T*>(memory);
  const Index query_tiles = (extents.queries + kTileQueries - 1) / kTileQueries;
  const Index g = static_cast<Index>(blockIdx.x) / query_tiles;
  // With a causal mask the last tiles take longest: they come first.
  const Index tile = query_tiles - 1 - static_cast<Index>(blockIdx.x) % query_tiles;
  const Index q0 = tile * kTileQueries, key_head = g / extents.group;
  const Index behind = extents.keys - extents.queries;  // keys that the first query sees, less one
  Index end = extents.keys;
  if constexpr (kCausal) {
    Index last = q0 + kTileQueries + behind;
    end = last < end ? last : end;
    end = end < 0 ? Index(0) : end;
  }

  gemm::TileLoader<Q, kTileQueries, Engine::kDepth, kThreads, false> load_q(q, g, q0, extents.queries);
  gemm::TileLoader<V, Engine::kWidth, kTileKeys, kThreads, false> load_v(v, key_head, Index(0), Index(extents.width));
  auto load_keys = [&](Index t0) {
    if (t0 < end) {
      gemm::TileLoader<K, kTileKeys, Engine::kDepth, kThreads, false> load_k(k, key_head, t0, extents.keys);
      load_k.load(tiles + L::kKeys, Index(0), Index(extents.depth));
    }
    cp_async_commit();
  };
  auto load_values = [&](Index t0) {
    if (t0 < end) load_v.load(tiles + L::kValues, t0, extents.keys);
    cp_async_commit();
  };

  load_q.load(tiles + L::kQueries, Index(0), Index(extents.depth));
  load_keys(0);
  load_values(0);

  Block block;
  // Scores are in units of log 2, so that weights are powers of two.
  const Acc scale = static_cast<Acc>(extents.scale * 1.4426950408889634), log2e = static_cast<Acc>(1.4426950408889634);
  const Acc lowest = -static_cast<Acc>(infinity());
  Acc top[Engine::kRows], total[Engine::kRows];
#pragma unroll
  for (int i = 0; i < Engine::kRows; ++i) {
    top[i] = lowest;
    total[i] = Acc(0);
  }

#pragma unroll 1
  for (Index t0 = 0; t0 < end; t0 += kTileKeys) {
    cp_async_wait<1>();
    __syncthreads();
    if (t0 == 0) block.take_queries(tiles + L::kQueries);
    block.compute_scores(tiles + L::kQueries, tiles + L::kKeys);
    __syncthreads();
    load_keys(t0 + kTileKeys);

#pragma unroll
    for (int i = 0; i < Engine::kRows; ++i) {
      const Index query = q0 + block.row(i);
      Index seen = extents.keys;
      if constexpr (kCausal) seen = query + behind + 1 < seen ? query + behind + 1 : seen;
      Acc now = top[i];
#pragma unroll
      for (int j = 0; j < Engine::kColumns; ++j) {
        Acc& score = block.score(i, j);
        const Index key = t0 + block.column(j);
        score *= scale;
        if constexpr (Mask::kPresent) {
          if (key < extents.keys && query < extents.queries)
            score = multiply_add(static_cast<Acc>(mask(g, query, key)), log2e, score);
        }
        score = key < seen ? score : lowest;
        now = score > now ? score : now;
      }
#pragma unroll
      for (int lane = 1; lane < Engine::kLanes; lane *= 2) {
        const Acc other = __shfl_xor_sync(kFullMask, now, lane);
        now = other > now ? other : now;
      }
      // Nothing seen yet: any finite number will do.
      const Acc base = now == lowest ? Acc(0) : now;
      Acc sum(0);
#pragma unroll
      for (int j = 0; j < Engine::kColumns; ++j) {
        Acc& score = block.score(i, j);
        score = exp2_of(score - base);
        sum += score;
      }
      const Acc factor = exp2_of(top[i] - base);
      total[i] = total[i] * factor + sum;
      top[i] = now;
      block.scale(i, factor);
    }

    cp_async_wait<1>();
    __syncthreads();
    block.accumulate(tiles + L::kWeights, tiles + L::kValues);
    __syncthreads();
    load_values(t0 + kTileKeys);
  }
  cp_async_wait<0>();
  __syncthreads();

#pragma unroll
  for (int i = 0; i < Engine::kRows; ++i) {
    Acc sum = total[i];
#pragma unroll
    for (int lane = 1; lane < Engine::kLanes; lane *= 2) sum += __shfl_xor_sync(kFullMask, sum, lane);
    // Without a key the sum is zero and the results are too: the inverse makes them NaN.
    const bool zero = kMaskedRows == MaskedRows::kNan ? extents.keys == 0 : sum == Acc(0);
    block.scale(i, zero ? Acc(0) : Acc(1) / sum);
    if (kMaskedRows == MaskedRows::kGuarded && sum != sum) block.clear(i);
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Acc* slice = reinterpret_cast<Acc*>(memory) + warp * L::kSliceElements;
  constexpr int kSliceColumns = Block::kSliceColumns;
#pragma unroll
  for (int c = 0; c < Engine::kWidth / kSliceColumns; ++c) {
    block.stage(slice, c);
    __syncwarp();
    gemm::store_slice<Engine::kWarpQueries, kSliceColumns, Block::kPitch, false>(
        slice, epilogue, g, extents.queries, Index(c * kSliceColumns), Index(extents.width),
        [&](int row) { return q0 + warp * Engine::kWarpQueries + row; });
    __syncwarp();
  }
}

}  // namespace attention
}  // namespace tcc
