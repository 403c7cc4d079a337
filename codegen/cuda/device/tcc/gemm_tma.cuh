// Products by wgmma (sm_90a only) whose tiles come by TMA: float16 and bfloat16 with float32 sums, each operand in
// memory along k or along its rows (B: its columns). The lines of a tile have 128 bytes: a row's 64 elements of k, or 64
// rows at one k, and then the next 64 rows.
//
// Warps have roles. One thread loads tiles of A and B into a ring of buffers; each of the other groups of four warps
// multiplies 64 rows of the block's tile. Two mbarriers a buffer tell them of each other: `full` when a tile's bytes have
// come, `empty` when all groups have read it. A block makes one tile after another (there are about as many blocks as
// multiprocessors), so that the next tile's loads run while the results of this one are stored.
//
// A candidate of max-autotune: it has been on no GPU, and the default mode does not choose it.
#pragma once
#include "tcc/gemm.cuh"

namespace tcc {
namespace gemm {

template <int kTileM_, int kTileN_, int kDepth_, int kStages_>
struct TmaWarpgroups {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kGroups = kTileM / 64;  // that multiply
  static constexpr int kThreads = (kGroups + 1) * 128;
  static_assert(kTileM % 64 == 0 && kDepth == 64 && kTileN % 64 == 0, "whole instructions, lines of 128 bytes");

  // Results on their way to the epilogue, of each warp: so many columns at a time.
  static constexpr int kSliceRows = 16, kSliceColumns = 32, kPitch = kSliceColumns + 8;
  static constexpr int kSliceBytes = kSliceRows * kPitch * 4 * kGroups * 4;
  static constexpr int kStageBytes = (kTileM + kTileN) * kDepth * 2;
  static constexpr int kBytes = kStages * kStageBytes + kSliceBytes + 2 * kStages * 8;

  // Registers of a thread: 65536 in all; what the loading warps leave goes to the others. With one group they have enough.
  static constexpr bool kMoveRegisters = kGroups > 1;
  static constexpr int kLoading = 40, kMultiplying = 232;
};

// Which buffer of a ring, and the parity of its phase.
template <int kStages>
struct RingPlace {
  int stage = 0;
  uint32 parity = 0;
  TCC_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Bytes of 8 lines; from 64 rows to the next 64, where lines lie along rows (else not looked at); elements from 16 of k
// to the next 16.
template <bool kAlongRows>
struct TmaTile {
  static constexpr uint32 kStride = 1024, kLeading = kAlongRows ? 64 * 128 : 16;
  static constexpr int kStep = kAlongRows ? 16 * 64 : 16;
  template <class T>
  static TCC_DEVICE uint64 describe(const T* tile, int step) {
    return wgmma_descriptor(tile + step * kStep, kLeading, kStride, Swizzle::k128);
  }
};

// `load_a(to, g, row, k, barrier)` and `load_b` start the copies of a tile, whose lines lie along rows if they are
// kAlongRows; `prefetch()` says that they will. Extents::splits is 1.
template <class Config, class T, bool kRowsFastest, class LoadA, class LoadB, class Epilogue, class Index>
TCC_DEVICE void multiply_by_tma(const LoadA& load_a, const LoadB& load_b, const Extents<Index>& extents,
                                const Epilogue& epilogue) {
  constexpr int kStages = Config::kStages, kDepth = Config::kDepth, kTileM = Config::kTileM, kTileN = Config::kTileN;
  TCC_DYNAMIC_SHARED(memory);
  T* const tiles = reinterpret_cast<T*>(memory);
  float* const slices = reinterpret_cast<float*>(memory + kStages * Config::kStageBytes);
  uint64* const full = reinterpret_cast<uint64*>(memory + kStages * Config::kStageBytes + Config::kSliceBytes);
  uint64* const empty = full + kStages;
  const auto tile_a = [&](int stage) { return tiles + stage * ((kTileM + kTileN) * kDepth); };
  const auto tile_b = [&](int stage) { return tile_a(stage) + kTileM * kDepth; };

  const int thread = static_cast<int>(threadIdx.x), group = thread / 128;
  if (thread == 0) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(full + s, 1);
      mbarrier_init(empty + s, 4 * Config::kGroups);
    }
    mbarrier_fence_init();
  }
  __syncthreads();

  const Index steps = (extents.k + kDepth - 1) / kDepth;
  const Index count =
      extents.batch * ((extents.m + kTileM - 1) / kTileM) * ((extents.n + kTileN - 1) / kTileN);
  RingPlace<kStages> at;
  if (group == Config::kGroups) {
    if constexpr (Config::kMoveRegisters) decrease_registers<Config::kLoading>();
    if (thread % 128 != 0) return;
    load_a.prefetch();
    load_b.prefetch();
    for (Index tile = static_cast<Index>(blockIdx.x); tile < count; tile += static_cast<Index>(gridDim.x)) {
      const Place<Index> place = place_of<kTileM, kTileN, kDepth>(extents, tile);
      for (Index step = 0; step < steps; ++step) {
        mbarrier_wait(empty + at.stage, at.parity ^ 1);  // at first, the phase before the first is over
        mbarrier_arrive_expect_bytes(full + at.stage, Config::kStageBytes);
        load_a(tile_a(at.stage), place.g, place.m0, step * kDepth, full + at.stage);
        load_b(tile_b(at.stage), place.g, place.n0, step * kDepth, full + at.stage);
        at.advance();
      }
    }
    return;
  }

  if constexpr (Config::kMoveRegisters) increase_registers<Config::kMultiplying>();
  const int warp = thread / 32;
  float* const slice = slices + warp * (Config::kSliceRows * Config::kPitch);
  // The warp has read a buffer.
  const auto release = [&](int stage) {
    __syncwarp();
    if (thread % 32 == 0) mbarrier_arrive(empty + stage);
  };
  for (Index tile = static_cast<Index>(blockIdx.x); tile < count; tile += static_cast<Index>(gridDim.x)) {
    const Place<Index> place = place_of<kTileM, kTileN, kDepth>(extents, tile);
    float sums[kTileN / 2];
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) sums[i] = 0.0f;
    int before = -1;  // the buffer that the products under way read
    for (Index step = 0; step < steps; ++step) {
      mbarrier_wait(full + at.stage, at.parity);
      const T* const a = tile_a(at.stage) + group * 64 * kDepth;
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k)
        Wgmma<kTileN, T, LoadA::kAlongRows, LoadB::kAlongRows>::multiply(
            sums, TmaTile<LoadA::kAlongRows>::describe(a, k),
            TmaTile<LoadB::kAlongRows>::describe(tile_b(at.stage), k), true);
      wgmma_commit();
      // All but these products are done.
      wgmma_wait<1>();
      if (before >= 0) release(before);
      before = at.stage;
      at.advance();
    }
    wgmma_wait<0>();
    if (before >= 0) release(before);

    const Index m0 = place.m0 + warp * 16;
#pragma unroll
    for (int column = 0; column < kTileN; column += Config::kSliceColumns) {
      float fragments[Config::kSliceColumns / 8][4];
#pragma unroll
      for (int i = 0; i < Config::kSliceColumns / 2; ++i) fragments[i / 4][i % 4] = sums[column / 2 + i];
      stage_fragments<Config::kPitch>(slice, fragments);
      __syncwarp();
      store_slice<Config::kSliceRows, Config::kSliceColumns, Config::kPitch, kRowsFastest>(
          slice, epilogue, place.g, extents.m, place.n0 + column, extents.n, [&](int row) { return m0 + row; });
      __syncwarp();
    }
  }
}

}  // namespace gemm
}  // namespace tcc
