//===- Tiles.h - tile sizes of matrix products on GPUs ------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/cuda/CudaDescription.h"

namespace tcc::codegen::cuda {

/// What multiplies: fused multiply-adds of threads, mma.sync, wgmma, wgmma whose tiles come by TMA.
enum class GemmEngine { Simt, Mma, Wgmma, Tma };

/// " on tensor cores", ...: for people.
const char *nameOf(GemmEngine engine);

/// The elements of a product.
struct GemmElements {
  GemmEngine engine = GemmEngine::Simt;
  int64_t bytes = 4, sumBytes = 4;
  bool zeros = false;    ///< zero points are subtracted from integers
  bool gathered = false; ///< fragments are put together from single elements
  bool wgmma = false;    ///< wgmma can multiply the operands as they lie
  bool tma = false;      ///< and so it can those that TMA loads
  /// Of A and B: elements of one copy to shared memory, and numbers that an address is made of.
  int vectorA = 1, vectorB = 1, addressA = 1, addressB = 1;
};

/// Parameters of tcc::gemm::Simt, Mma, Warpgroups or TmaWarpgroups (codegen/cuda/device/tcc).
struct GemmTiles {
  GemmEngine engine = GemmEngine::Simt;
  int m = 0, n = 0, depth = 0, stages = 0;
  int a = 0, b = 0; ///< Mma: warps along m and n; Simt: rows and columns of a thread

  int warpM() const { return engine == GemmEngine::Simt ? 4 * a : engine == GemmEngine::Mma ? m / a : 16; }
  int warpN() const { return engine == GemmEngine::Simt ? 8 * b : engine == GemmEngine::Mma ? n / b : n; }
  /// (With TMA four more warps, which load.)
  int threads() const { return 32 * (m / warpM()) * (n / warpN()) + (engine == GemmEngine::Tma ? 128 : 0); }
  /// Dynamic shared memory; as tcc::gemm::Layout has it.
  int64_t sharedBytes(const GemmElements &elements) const;
  /// Registers of a thread, about: at least what the assembler needs without a spill.
  int registers(const GemmElements &elements) const;
  std::string text() const; ///< the C++ type
};

/// Parts that k may be divided into.
inline constexpr int kPartsOfK[] = {1, 2, 3, 4, 6, 8, 12, 16};

/// A product's extents, or the most that they can be; nothing where that is not known. k is known or not.
struct GemmShape {
  std::optional<int64_t> batch, m, n, k;
};

struct GemmChoice {
  GemmTiles tiles;
  int splits = 1; ///< blocks that share one tile's sums
  int beside = 1; ///< blocks that are planned to be on one multiprocessor
};

/// Whether blocks may share k: each part is long enough to be worth a start.
bool canDivide(const GemmShape &shape, const GemmTiles &tiles, int parts);

/// How many blocks of so many threads with so many registers are on a multiprocessor at a time; at least 1.
int blocksBeside(const CudaDescription &device, int threads, int registers, int64_t sharedBytes);

/// Tiles that fit the device.
GemmChoice chooseTiles(const GemmShape &shape, const GemmElements &elements, const CudaDescription &device);

/// What chooseTiles goes by: clock cycles, roughly. Of use for comparisons alone.
double predictCycles(const GemmChoice &choice, const GemmShape &shape, const GemmElements &elements,
                     const CudaDescription &device);

} // namespace tcc::codegen::cuda
