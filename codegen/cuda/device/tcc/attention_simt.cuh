// Attention on tiles in shared memory, element by element: exact float32 and float64.
#pragma once
#include "tcc/gemm_simt.cuh"

namespace tcc {
namespace attention {

// Four times kRows queries a warp, kTileKeys keys at a time. Widths are padded to powers of two by the caller.
template <class T_, int kWarps_, int kTileKeys_, int kDepth_, int kWidth_, int kRows_ = 4>
struct SimtEngine {
  using T = T_;
  using Acc = T_;
  static constexpr int kThreads = 32 * kWarps_, kTileKeys = kTileKeys_;
  static constexpr int kWarpQueries = 4 * kRows_, kTileQueries = kWarpQueries * kWarps_;
  static constexpr int kDepth = kDepth_, kWidth = kWidth_;
  static constexpr int kRows = kRows_;          // of a thread
  static constexpr int kColumns = kTileKeys / 8;  // scores of a thread, in each row
  static constexpr int kLanes = 8;              // lanes that share a row

  template <class Q, class K, class V>
  struct Block {
    static_assert(Q::kAlongK, "queries lie along their depth");
    struct Weights {
      using Element = T;
      static constexpr bool kAlongK = true;
    };
    using ShapeQ = gemm::TileShape<T, kTileQueries, kDepth, true>;
    using ShapeK = gemm::TileShape<T, kTileKeys, kDepth, K::kAlongK>;
    using ShapeV = gemm::TileShape<T, kWidth, kTileKeys, V::kAlongK>;
    using ShapeP = gemm::TileShape<T, kTileQueries, kTileKeys, true>;
    static constexpr int kWeights = ShapeP::kElements;  // elements of shared memory for the weights
    using Scores = typename gemm::Simt<kTileQueries, kTileKeys, kDepth, 1, kRows, kTileKeys / 8>::template Product<Q, K, T>;
    using Result = typename gemm::Simt<kTileQueries, kWidth, kTileKeys, 1, kRows, kWidth / 8>::template Product<Weights, V, T>;

    Scores scores;
    Result result;

    TCC_DEVICE int row(int i) const { return scores.warp_row + scores.thread_row + 4 * i; }
    TCC_DEVICE int column(int j) const {
      return Scores::template place<K::kAlongK, 8>(scores.thread_column, j);
    }
    TCC_DEVICE T& score(int i, int j) { return scores.sums[i][j]; }
    TCC_DEVICE void take_queries(const T*) {}
    TCC_DEVICE void compute_scores(const T* q, const T* k) {
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) scores.sums[i][j] = T(0);
      scores.multiply(q, k);
    }
    TCC_DEVICE void scale(int i, T factor) {
#pragma unroll
      for (int j = 0; j < kWidth / 8; ++j) result.sums[i][j] *= factor;
    }
    TCC_DEVICE void clear(int i) {
#pragma unroll
      for (int j = 0; j < kWidth / 8; ++j) result.sums[i][j] = T(0);
    }
    // Rows of the weights are the warp's own.
    TCC_DEVICE void accumulate(T* weights, const T* v) {
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) weights[ShapeP::element(row(i), column(j))] = scores.sums[i][j];
      __syncwarp();
      result.multiply(weights, v);
      __syncwarp();
    }
    // Columns [c * kSliceColumns, ...) of the results of the warp's rows.
    static constexpr int kSliceColumns = kWidth < 64 ? kWidth : 64;
    static constexpr int kPitch = kSliceColumns + 8;
    TCC_DEVICE void stage(T* slice, int c) const {
      constexpr int kEach = kSliceColumns / 8;
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kWidth / 8; ++j)
          if (j / kEach == c)
            slice[(result.thread_row + 4 * i) * kPitch + Result::template place<V::kAlongK, 8>(result.thread_column, j) -
                  c * kSliceColumns] = result.sums[i][j];
    }
  };
};

}  // namespace attention
}  // namespace tcc
