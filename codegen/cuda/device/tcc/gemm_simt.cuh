// Products of tiles in shared memory, element by element: exact float32, float64 and integers.
#pragma once
#include "tcc/gemm_tile.cuh"

namespace tcc {
namespace gemm {

// The tiles of a block: kTileM x kTileN results of kDepth of k at a time, in kStages buffers. Threads of a warp are 4
// by 8; each has kThreadM by kThreadN results.
template <int kTileM_, int kTileN_, int kDepth_, int kStages_, int kThreadM, int kThreadN>
struct Simt {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpM = 4 * kThreadM, kWarpN = 8 * kThreadN;
  static constexpr int kWarpsM = kTileM / kWarpM, kWarpsN = kTileN / kWarpN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "whole warps");

  template <class A, class B, class Acc, class Zeros = void>
  struct Product {
    static constexpr bool kAsync = false;
    using T = typename A::Element;
    using ShapeA = TileShape<T, kTileM, kDepth, A::kAlongK>;
    using ShapeB = TileShape<T, kTileN, kDepth, B::kAlongK>;
    static constexpr int kGroup = ShapeA::kChunk;  // of k at a time
    static constexpr int kSliceRows = 4;
    static constexpr int kSlices = kThreadM;
    static_assert(kThreadM % kGroup == 0 || A::kAlongK, "rows of a thread are whole chunks");
    static_assert(kThreadN % kGroup == 0 || B::kAlongK, "columns of a thread are whole chunks");

    Acc sums[kThreadM][kThreadN];
    int warp_row, warp_column, thread_row, thread_column;

    TCC_DEVICE Product() {
      int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
      warp_row = warp / kWarpsN * kWarpM;
      warp_column = warp % kWarpsN * kWarpN;
      thread_row = lane / 8;
      thread_column = lane % 8;
#pragma unroll
      for (int i = 0; i < kThreadM; ++i)
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sums[i][j] = Acc(0);
    }

    // Row (column) of a thread's i-th one, in the warp's tile: side by side in chunks where neighbours in memory lie
    // along rows.
    template <bool kAlongK, int kAcross>
    static TCC_DEVICE int place(int thread, int i) {
      if constexpr (kAlongK)
        return thread + i * kAcross;
      else
        return (i / kGroup * kAcross + thread) * kGroup + i % kGroup;
    }

    // fragment[i][k] of a group of k, of the thread's rows (columns) from i0 on.
    template <class Shape, bool kAlongK, int kAcross, int kCount>
    static TCC_DEVICE void fetch(T (&fragment)[kCount][kGroup], const T* tile, int first, int thread,
                                                 int group, int i0 = 0) {
      if constexpr (kAlongK) {
#pragma unroll
        for (int i = 0; i < kCount; ++i)
          load_chunk(fragment[i], tile + Shape::at(first + place<true, kAcross>(thread, i0 + i), group));
      } else {
#pragma unroll
        for (int k = 0; k < kGroup; ++k)
#pragma unroll
          for (int i = 0; i < kCount; i += kGroup) {
            T chunk[kGroup];
            int line = group * kGroup + k;
            load_chunk(chunk, tile + Shape::at(line, (first + place<false, kAcross>(thread, i0 + i)) / kGroup));
#pragma unroll
            for (int c = 0; c < kGroup; ++c) fragment[i + c][k] = chunk[c];
          }
      }
    }

    static constexpr int kColumnsAtOnce = kThreadN > 8 ? 8 : kThreadN;
    static constexpr int kGroups = kDepth / kGroup;
    static constexpr int kUnroll = kGroups <= 8 ? kGroups : 2;
    TCC_DEVICE void multiply(const T* a, const T* b) {
#pragma unroll kUnroll
      for (int group = 0; group < kGroups; ++group) {
        T rows[kThreadM][kGroup];
        fetch<ShapeA, A::kAlongK, 4>(rows, a, warp_row, thread_row, group);
#pragma unroll
        for (int j0 = 0; j0 < kThreadN; j0 += kColumnsAtOnce) {
          T columns[kColumnsAtOnce][kGroup];
          fetch<ShapeB, B::kAlongK, 8>(columns, b, warp_column, thread_column, group, j0);
#pragma unroll
          for (int k = 0; k < kGroup; ++k)
#pragma unroll
            for (int i = 0; i < kThreadM; ++i)
#pragma unroll
              for (int j = 0; j < kColumnsAtOnce; ++j)
                sums[i][j0 + j] = multiply_add(Acc(rows[i][k]), Acc(columns[j][k]), sums[i][j0 + j]);
        }
      }
    }

    // Writes one slice of the warp's results, kSliceRows by kWarpN, row-major with kPitch.
    static constexpr int kPitch = kWarpN + 8;
    TCC_DEVICE void stage(Acc* slice, int s) const {
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
        if (i != s) continue;
#pragma unroll
        for (int j = 0; j < kThreadN; ++j)
          slice[thread_row * kPitch + place<B::kAlongK, 8>(thread_column, j)] = sums[i][j];
      }
    }
    // Row in the warp's tile of a slice's row.
    static TCC_DEVICE int slice_row(int s, int row) { return place<A::kAlongK, 4>(row, s); }
  };
};

}  // namespace gemm
}  // namespace tcc
