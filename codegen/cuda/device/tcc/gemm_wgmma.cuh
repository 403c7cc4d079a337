// Products of tiles in shared memory by wgmma (sm_90a only): float16 and bfloat16 with float32 sums. Tiles of 64 of k in
// lines of 128 bytes are permuted as its descriptors have it. cp.async fills them, not TMA. A candidate: nothing
// chooses it by itself, for it has been on no GPU.
#pragma once
#include "tcc/gemm_tile.cuh"

namespace tcc {
namespace gemm {

// The tiles of a block: kTileM x kTileN results of kDepth of k at a time, in kStages buffers; each four warps have 64
// rows.
template <int kTileM_, int kTileN_, int kDepth_, int kStages_>
struct Warpgroups {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpM = 16, kWarpN = kTileN;
  static constexpr int kThreads = kTileM * 2;
  static_assert(kTileM % 64 == 0 && kDepth == 64, "whole instructions, lines of 128 bytes");

  template <class A, class B, class Acc, class Zeros>
  struct Product {
    static constexpr bool kAsync = true;
    using T = typename A::Element;
    static_assert(A::kAlongK && B::kAlongK && sizeof(T) == 2, "lines are rows of 64 halves");
    static constexpr int kSliceRows = 16, kSlices = 1;

    Acc sums[kTileN / 2];
    int warp_row, warp_column, group_row;

    TCC_DEVICE Product() {
      const int warp = static_cast<int>(threadIdx.x) / 32;
      warp_row = warp * 16;
      warp_column = 0;
      group_row = warp / 4 * 64;
#pragma unroll
      for (int i = 0; i < kTileN / 2; ++i) sums[i] = Acc(0);
    }

    TCC_DEVICE void multiply(const T* a, const T* b) {
      // Bytes of 8 rows, and of a piece of k, which is not looked at.
      constexpr uint32 kStride = 1024, kLeading = 16;
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kDepth; k += 16)
        Wgmma<kTileN, T>::multiply(sums, wgmma_descriptor(a + group_row * kDepth + k, kLeading, kStride, Swizzle::k128),
                                   wgmma_descriptor(b + k, kLeading, kStride, Swizzle::k128), true);
      wgmma_commit();
      wgmma_wait<0>();
    }

    static constexpr int kPitch = kWarpN + 8;
    TCC_DEVICE void stage(Acc* slice, int) const {
      Acc fragments[kTileN / 8][4];
#pragma unroll
      for (int i = 0; i < kTileN / 2; ++i) fragments[i / 4][i % 4] = sums[i];
      stage_fragments<kPitch>(slice, fragments);
    }
    static TCC_DEVICE int slice_row(int, int row) { return row; }
  };
};

}  // namespace gemm
}  // namespace tcc
