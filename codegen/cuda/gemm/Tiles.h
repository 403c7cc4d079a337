//===- Tiles.h - tile sizes of matrix products on GPUs ------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/cuda/CudaDescription.h"

namespace tcc::codegen::cuda {

/// Parameters of tcc::gemm::Simt or tcc::gemm::Mma (codegen/cuda/device/tcc).
struct GemmTiles {
  bool mma = false;
  int m = 0, n = 0, depth = 0, stages = 0;
  int a = 0, b = 0; ///< mma: warps along m and n; simt: rows and columns of a thread

  int warpM() const { return mma ? m / a : 4 * a; }
  int warpN() const { return mma ? n / b : 8 * b; }
  int threads() const { return 32 * (m / warpM()) * (n / warpN()); }
  /// Dynamic shared memory; as tcc::gemm::Layout has it.
  int64_t sharedBytes(int64_t elementBytes, int64_t sumBytes) const;
  std::string text() const; ///< the C++ type
};

/// A product's extents, where they are known.
struct GemmShape {
  std::optional<int64_t> batch, m, n, k;
};

struct GemmChoice {
  GemmTiles tiles;
  int splits = 1; ///< blocks that share one tile's sums
};

/// Tiles that fit the device, for 16-bit floats (mma), float32 or float64.
GemmChoice chooseTiles(const GemmShape &shape, int64_t elementBytes, const CudaDescription &device);

} // namespace tcc::codegen::cuda
