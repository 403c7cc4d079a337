// Products of tiles in shared memory on tensor cores: float16 and bfloat16 with float32 sums, float32 rounded to tf32,
// 8-bit integers with int32 sums.
//
// Layouts of fragments: PTX ISA, "Matrix fragments for mma.m16n8k16" and so on, and "ldmatrix". A fragment spans two
// chunks of k whatever the element: 16 of 2 bytes, 8 of 4, 32 of 1.
#pragma once
#include "tcc/gemm_tile.cuh"

namespace tcc {
namespace gemm {

// What a warp multiplies at once, by the elements of A and B.
template <class A, class B>
struct MmaOf {
  static TCC_DEVICE void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    mma_m16n8k16<A>(sums, a, b);
  }
};
template <>
struct MmaOf<float, float> {
  static TCC_DEVICE void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    mma_m16n8k8_tf32(sums, a, b);
  }
};
#define TCC_MMA_OF(A, B, NAME)                                                                             \
  template <>                                                                                              \
  struct MmaOf<A, B> {                                                                                     \
    static TCC_DEVICE void multiply(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {      \
      NAME(sums, a, b);                                                                                    \
    }                                                                                                      \
  };
TCC_MMA_OF(int8, int8, mma_m16n8k32_s8s8)
TCC_MMA_OF(int8, uint8, mma_m16n8k32_s8u8)
TCC_MMA_OF(uint8, int8, mma_m16n8k32_u8s8)
TCC_MMA_OF(uint8, uint8, mma_m16n8k32_u8u8)
#undef TCC_MMA_OF

// Elements of a fragment, one by one: neighbours in memory lie along rows (columns), and ldmatrix only transposes
// elements of 2 bytes. `line` and `minor` give where element e of a register is.
template <class Shape, int kRegisters, class T, class Line, class Minor>
TCC_DEVICE void gather_fragment(unsigned (&fragment)[kRegisters], const T* tile, Line line, Minor minor) {
  constexpr int kPer = 4 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    fragment[r] = 0;
#pragma unroll
    for (int e = 0; e < kPer; ++e)
      fragment[r] |= bits_of(tile[Shape::element(line(r, e), minor(r, e))]) << (e * 32 / kPer % 32);
  }
}

// float32 becomes tf32, to the nearest.
template <class T, int kRegisters>
TCC_DEVICE void round_fragment(unsigned (&fragment)[kRegisters]) {
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) fragment[r] = to_tf32(__uint_as_float(fragment[r]));
  }
}

// Fragment of 16 rows by two chunks of k, from (row0, group) of a tile.
template <class Shape, bool kAlongK, class T>
TCC_DEVICE void fetch_rows(unsigned (&fragment)[4], const T* tile, int row0, int group) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kAlongK) {
    ldmatrix_x4(fragment, tile + Shape::at(row0 + lane % 16, group * 2 + lane / 16));
  } else if constexpr (sizeof(T) == 2) {
    ldmatrix_x4_trans(fragment, tile + Shape::at(group * 16 + lane % 8 + lane / 16 * 8, row0 / 8 + lane / 8 % 2));
  } else {
    constexpr int kPer = 4 / static_cast<int>(sizeof(T));
    using Layout = MmaLayout<kPer>;
    gather_fragment<Shape>(
        fragment, tile, [&](int r, int e) { return group * Layout::kK + Layout::a_column(lane, r * kPer + e); },
        [&](int r, int e) { return row0 + Layout::a_row(lane, r * kPer + e); });
  }
  round_fragment<T>(fragment);
}

// Fragments of 16 columns by two chunks of k: fragment[0..1] are of the first 8 columns, fragment[2..3] of the others.
template <class Shape, bool kAlongK, class T>
TCC_DEVICE void fetch_columns(unsigned (&fragment)[4], const T* tile, int column0, int group) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kAlongK) {
    ldmatrix_x4(fragment, tile + Shape::at(column0 + lane % 8 + lane / 16 * 8, group * 2 + lane / 8 % 2));
  } else if constexpr (sizeof(T) == 2) {
    ldmatrix_x4_trans(fragment, tile + Shape::at(group * 16 + lane % 16, column0 / 8 + lane / 16));
  } else {
    constexpr int kPer = 4 / static_cast<int>(sizeof(T));
    using Layout = MmaLayout<kPer>;
    gather_fragment<Shape>(
        fragment, tile, [&](int r, int e) { return group * Layout::kK + Layout::b_row(lane, r % 2 * kPer + e); },
        [&](int r, int e) { return column0 + r / 2 * 8 + Layout::b_column(lane, r % 2 * kPer + e); });
  }
  round_fragment<T>(fragment);
}

// Zero points of integer operands: A is `a` less zero.a(g, row), B is `b` less zero.b(g, column).
struct NoZeros {
  static constexpr bool kPresent = false;
};

// The tiles of a block: kTileM x kTileN results of kDepth of k at a time, in kStages buffers, by kWarpsM x kWarpsN
// warps.
template <int kTileM_, int kTileN_, int kDepth_, int kStages_, int kWarpsM_, int kWarpsN_>
struct Mma {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
  static constexpr int kWarpM = kTileM / kWarpsM, kWarpN = kTileN / kWarpsN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "whole fragments");

  template <class A, class B, class Acc, class Zeros = NoZeros>
  struct Product {
    static constexpr bool kAsync = false;
    using TA = typename A::Element;
    using TB = typename B::Element;
    static_assert(sizeof(TA) == sizeof(TB), "tiles of both have lines of chunks alike");
    using Instruction = MmaOf<TA, TB>;
    using ShapeA = TileShape<TA, kTileM, kDepth, A::kAlongK>;
    using ShapeB = TileShape<TB, kTileN, kDepth, B::kAlongK>;
    static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
    static constexpr int kFragmentK = 32 / static_cast<int>(sizeof(TA));
    static_assert(kDepth % kFragmentK == 0, "whole fragments");
    static constexpr int kSliceRows = 16;
    static constexpr int kSlices = kFragmentsM;

    Acc sums[kFragmentsM][kFragmentsN][4];
    // With zero points: sums of A's rows and of B's columns over k, where the results of these are.
    Acc row_sums[Zeros::kPresent ? kFragmentsM : 1][4], column_sums[Zeros::kPresent ? kFragmentsN : 1][4];
    int warp_row, warp_column;

    TCC_DEVICE Product() {
      int warp = static_cast<int>(threadIdx.x) / 32;
      warp_row = warp / kWarpsN * kWarpM;
      warp_column = warp % kWarpsN * kWarpN;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) sums[i][j][r] = Acc(0);
        if constexpr (Zeros::kPresent) {
#pragma unroll
          for (int i = 0; i < kFragmentsM; ++i) row_sums[i][r] = Acc(0);
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) column_sums[j][r] = Acc(0);
        }
      }
    }

    // Elements that are gathered one by one would all be in registers.
    static constexpr bool kGathered = sizeof(TA) != 2 && !(A::kAlongK && B::kAlongK);
    static constexpr int kUnroll = kGathered ? 1 : kDepth / kFragmentK;
    TCC_DEVICE void multiply(const TA* a, const TB* b) {
#pragma unroll kUnroll
      for (int group = 0; group < kDepth / kFragmentK; ++group) {
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
            Instruction::multiply(sums[i][j], rows[i], column);
          }
        if constexpr (Zeros::kPresent) {
          // Times ones.
          const unsigned row_of_ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
          const unsigned column_of_ones[2] = {0x01010101u, 0x01010101u};
#pragma unroll
          for (int i = 0; i < kFragmentsM; ++i) Instruction::multiply(row_sums[i], rows[i], column_of_ones);
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) {
            unsigned column[2] = {columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]};
            Instruction::multiply(column_sums[j], row_of_ones, column);
          }
        }
      }
    }

    // sum (a - za) (b - zb) = sum a b - zb sum a - za sum b + depth za zb, wrapping; `depth`: of this block's part of k.
    template <class Index>
    TCC_DEVICE void centre(const Zeros& zeros, Index g, Index m0, Index n0, Index m, Index n, Index depth) {
      if constexpr (Zeros::kPresent) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const Index row = m0 + warp_row + 16 * i + lane / 4 + 8 * half;
            const Acc za = row < m ? zeros.a(g, row) : Acc(0);
#pragma unroll
            for (int j = 0; j < kFragmentsN; ++j)
#pragma unroll
              for (int c = 0; c < 2; ++c) {
                const Index column = n0 + warp_column + 8 * j + lane % 4 * 2 + c;
                const Acc zb = column < n ? zeros.b(g, column) : Acc(0);
                Acc& sum = sums[i][j][half * 2 + c];
                sum = multiply_add(-zb, row_sums[i][half * 2], sum);
                sum = multiply_add(za, multiply_add(zb, static_cast<Acc>(depth), -column_sums[j][c]), sum);
              }
          }
      }
    }

    // Writes one slice of the warp's results, kSliceRows by kWarpN, row-major with kPitch.
    static constexpr int kPitch = kWarpN + 8;
    TCC_DEVICE void stage(Acc* slice, int s) const {
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i)
        if (i == s) stage_fragments<kPitch>(slice, sums[i]);
    }
    static TCC_DEVICE int slice_row(int s, int row) { return s * 16 + row; }
  };
};

}  // namespace gemm
}  // namespace tcc
