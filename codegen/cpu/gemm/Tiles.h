//===- Tiles.h - tile sizes of matrix products --------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tcc::codegen::gemm {

/// What the heuristics need to know of a processor.
struct Machine {
  int64_t vectorBits = 256; ///< width of a vector register
  int64_t registers = 16;   ///< number of vector registers
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 512 << 10;
};

/// Sizes of one matrix product's tiles. Any values with rows, vectors, rowTiles, panels, kBlock >= 1 are correct.
struct GemmTiles {
  int64_t lanes = 8;    ///< elements of the accumulation type in a vector
  int64_t rows = 6;     ///< most rows of a register tile
  int64_t vectors = 2;  ///< vectors in a row of a register tile: a panel is vectors * lanes columns wide
  int64_t rowTiles = 1; ///< register tiles, one below the other, in a work item
  int64_t panels = 1;   ///< panels in a work item
  int64_t kBlock = 256; ///< how much of K is accumulated in registers at a time, a multiple of lanes
  int64_t panelWidth() const { return vectors * lanes; }
  bool operator==(const GemmTiles &) const = default;
};

/// Extents as far as they are known.
struct GemmShape {
  std::optional<int64_t> batch, m, n, k;
  int64_t elementBits = 32; ///< of the accumulation type
  bool packsA = false;      ///< each work item copies its rows of A: then many columns an item
};

/// The heuristic choice.
GemmTiles chooseTiles(const GemmShape &shape, const Machine &machine);
/// Choices worth measuring, the heuristic one first.
std::vector<GemmTiles> candidateTiles(const GemmShape &shape, const Machine &machine);

} // namespace tcc::codegen::gemm
