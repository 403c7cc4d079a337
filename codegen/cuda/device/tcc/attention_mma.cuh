// Attention on tiles in shared memory on tensor cores: float16 and bfloat16, scores and sums in float32.
#pragma once
#include "tcc/gemm_mma.cuh"

namespace tcc {
namespace attention {

// 16 queries a warp, kTileKeys keys at a time. kDepth and kWidth are those of the tiles, powers of two; of the depth
// only the first kUsedDepth are not zero, of the results the first kUsedWidth are used.
template <class T_, int kWarps_, int kTileKeys_, int kDepth_, int kWidth_, int kUsedDepth = kDepth_,
          int kUsedWidth = kWidth_>
struct MmaEngine {
  using T = T_;
  using Acc = float;
  static constexpr int kThreads = 32 * kWarps_, kTileKeys = kTileKeys_;
  static constexpr int kWarpQueries = 16, kTileQueries = kWarpQueries * kWarps_;
  static constexpr int kDepth = kDepth_, kWidth = kWidth_;
  static constexpr int kRows = 2;               // of a thread
  static constexpr int kColumns = kTileKeys / 4;  // scores of a thread, in each row
  static constexpr int kLanes = 4;              // lanes that share a row
  static_assert(kTileKeys % 16 == 0, "whole fragments");

  template <class Q, class K, class V>
  struct Block {
    using ShapeQ = gemm::TileShape<T, kTileQueries, kDepth, Q::kAlongK>;
    using ShapeK = gemm::TileShape<T, kTileKeys, kDepth, K::kAlongK>;
    using ShapeV = gemm::TileShape<T, kWidth, kTileKeys, V::kAlongK>;
    static constexpr int kWeights = 0;
    static constexpr int kGroups = (kUsedDepth + 15) / 16, kPanels = (kUsedWidth + 15) / 16;
    static constexpr bool kKeepQueries = kGroups <= 4;

    unsigned queries[kKeepQueries ? kGroups : 1][4];
    float scores[kTileKeys / 8][4];
    float result[kPanels * 2][4];
    int warp_row, lane;

    TCC_DEVICE Block() {
      warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
      lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
      for (int j = 0; j < kPanels * 2; ++j)
#pragma unroll
        for (int r = 0; r < 4; ++r) result[j][r] = 0.0f;
    }
    TCC_DEVICE int row(int i) const { return warp_row + lane / 4 + 8 * i; }
    TCC_DEVICE int column(int j) const { return j / 2 * 8 + lane % 4 * 2 + j % 2; }
    TCC_DEVICE float& score(int i, int j) { return scores[j / 2][i * 2 + j % 2]; }
    TCC_DEVICE void take_queries(const T* q) {
      if constexpr (kKeepQueries) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) gemm::fetch_rows<ShapeQ, Q::kAlongK>(queries[g], q, warp_row, g);
      }
    }
    TCC_DEVICE void compute_scores(const T* q, const T* k) {
#pragma unroll
      for (int j = 0; j < kTileKeys / 8; ++j)
#pragma unroll
        for (int r = 0; r < 4; ++r) scores[j][r] = 0.0f;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        if constexpr (!kKeepQueries) gemm::fetch_rows<ShapeQ, Q::kAlongK>(queries[0], q, warp_row, g);
#pragma unroll
        for (int j = 0; j < kTileKeys / 16; ++j) {
          unsigned keys[4];
          gemm::fetch_columns<ShapeK, K::kAlongK>(keys, k, 16 * j, g);
          multiply(scores[2 * j], queries[kKeepQueries ? g : 0], keys[0], keys[1]);
          multiply(scores[2 * j + 1], queries[kKeepQueries ? g : 0], keys[2], keys[3]);
        }
      }
    }
    TCC_DEVICE void scale(int i, float factor) {
#pragma unroll
      for (int j = 0; j < kPanels * 2; ++j) {
        result[j][i * 2] *= factor;
        result[j][i * 2 + 1] *= factor;
      }
    }
    TCC_DEVICE void clear(int i) {
#pragma unroll
      for (int j = 0; j < kPanels * 2; ++j) result[j][i * 2] = result[j][i * 2 + 1] = 0.0f;
    }
    // The layout of the sums of one product is that of the rows of the next.
    TCC_DEVICE void accumulate(T*, const T* v) {
#pragma unroll
      for (int g = 0; g < kTileKeys / 16; ++g) {
        unsigned weights[4] = {pack_pair<T>(scores[2 * g][0], scores[2 * g][1]),
                               pack_pair<T>(scores[2 * g][2], scores[2 * g][3]),
                               pack_pair<T>(scores[2 * g + 1][0], scores[2 * g + 1][1]),
                               pack_pair<T>(scores[2 * g + 1][2], scores[2 * g + 1][3])};
#pragma unroll
        for (int j = 0; j < kPanels; ++j) {
          unsigned values[4];
          gemm::fetch_columns<ShapeV, V::kAlongK>(values, v, 16 * j, g);
          multiply(result[2 * j], weights, values[0], values[1]);
          multiply(result[2 * j + 1], weights, values[2], values[3]);
        }
      }
    }
    static constexpr int kSliceColumns = kWidth < 64 ? kWidth : 64;
    static constexpr int kPitch = kSliceColumns + 8;
    TCC_DEVICE void stage(float* slice, int c) const {
#pragma unroll
      for (int j = 0; j < kPanels * 2; ++j)
        if (j * 8 / kSliceColumns == c)
#pragma unroll
          for (int r = 0; r < 4; ++r)
            slice[(lane / 4 + r / 2 * 8) * kPitch + j * 8 % kSliceColumns + lane % 4 * 2 + r % 2] = result[j][r];
    }

   private:
    static TCC_DEVICE void multiply(float (&sums)[4], const unsigned (&rows)[4], unsigned column0,
                                                    unsigned column1) {
      unsigned columns[2] = {column0, column1};
      mma_m16n8k16<T>(sums, rows, columns);
    }
  };
};

}  // namespace attention
}  // namespace tcc
