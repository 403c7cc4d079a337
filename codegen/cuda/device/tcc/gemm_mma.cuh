// Products of tiles in shared memory on tensor cores: float16 and bfloat16 with float32 sums.
//
// Layouts of fragments: PTX ISA, "Matrix fragments for mma.m16n8k16" and "ldmatrix".
#pragma once
#include "tcc/gemm_tile.cuh"

namespace tcc {
namespace gemm {

// Fragment of 16 rows by 16 of k, from (row0, 16 * group) of a tile.
template <class Shape, bool kAlongK, class T>
TCC_DEVICE void fetch_rows(unsigned (&fragment)[4], const T* tile, int row0, int group) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kAlongK)
    ldmatrix_x4(fragment, tile + Shape::at(row0 + lane % 16, group * 2 + lane / 16));
  else
    ldmatrix_x4_trans(fragment, tile + Shape::at(group * 16 + lane % 8 + lane / 16 * 8, row0 / 8 + lane / 8 % 2));
}

// Fragments of 16 columns by 16 of k: fragment[0..1] are of the first 8 columns, fragment[2..3] of the others.
template <class Shape, bool kAlongK, class T>
TCC_DEVICE void fetch_columns(unsigned (&fragment)[4], const T* tile, int column0, int group) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kAlongK)
    ldmatrix_x4(fragment, tile + Shape::at(column0 + lane % 8 + lane / 16 * 8, group * 2 + lane / 8 % 2));
  else
    ldmatrix_x4_trans(fragment, tile + Shape::at(group * 16 + lane % 16, column0 / 8 + lane / 16));
}

// The tiles of a block: kTileM x kTileN results of kDepth of k at a time, in kStages buffers, by kWarpsM x kWarpsN
// warps.
template <int kTileM_, int kTileN_, int kDepth_, int kStages_, int kWarpsM_, int kWarpsN_>
struct Mma {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
  static constexpr int kWarpM = kTileM / kWarpsM, kWarpN = kTileN / kWarpsN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0 && kDepth % 16 == 0, "whole fragments");

  template <class A, class B, class Acc>
  struct Product {
    using T = typename A::Element;
    using ShapeA = TileShape<T, kTileM, kDepth, A::kAlongK>;
    using ShapeB = TileShape<T, kTileN, kDepth, B::kAlongK>;
    static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
    static constexpr int kSliceRows = 16;
    static constexpr int kSlices = kFragmentsM;

    float sums[kFragmentsM][kFragmentsN][4];
    int warp_row, warp_column;

    TCC_DEVICE Product() {
      int warp = static_cast<int>(threadIdx.x) / 32;
      warp_row = warp / kWarpsN * kWarpM;
      warp_column = warp % kWarpsN * kWarpN;
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j)
#pragma unroll
          for (int r = 0; r < 4; ++r) sums[i][j][r] = 0.0f;
    }

    TCC_DEVICE void multiply(const T* a, const T* b) {
#pragma unroll
      for (int group = 0; group < kDepth / 16; ++group) {
        unsigned rows[kFragmentsM][4], columns[kFragmentsN / 2][4];
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i)
          fetch_rows<ShapeA, A::kAlongK>(rows[i], a, warp_row + 16 * i, group);
#pragma unroll
        for (int j = 0; j < kFragmentsN / 2; ++j)
          fetch_columns<ShapeB, B::kAlongK>(columns[j], b, warp_column + 16 * j, group);
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) {
            unsigned column[2] = {columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]};
            mma_m16n8k16<T>(sums[i][j], rows[i], column);
          }
      }
    }

    // Writes one slice of the warp's results, kSliceRows by kWarpN, row-major with kPitch.
    static constexpr int kPitch = kWarpN + 8;
    TCC_DEVICE void stage(float* slice, int s) const {
      int lane = static_cast<int>(threadIdx.x) % 32;
      float* at = slice + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) {
        if (i != s) continue;
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          at[8 * j] = sums[i][j][0];
          at[8 * j + 1] = sums[i][j][1];
          at[8 * kPitch + 8 * j] = sums[i][j][2];
          at[8 * kPitch + 8 * j + 1] = sums[i][j][3];
        }
      }
    }
    static TCC_DEVICE int slice_row(int s, int row) { return s * 16 + row; }
  };
};

}  // namespace gemm
}  // namespace tcc
