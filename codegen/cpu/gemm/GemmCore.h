//===- GemmCore.h - blocked matrix product over abstract operands --*- C++ -*-===//
//
// The loops around the micro-kernel, shared by matrix products and convolutions: C[g, m, n] = sum over k of A[g, m, k]
// B[g, k, n]. Where A and B come from, and what becomes of C, is up to the caller.
//
// Work items are blocks of rowTiles register tiles by `panels` panels, numbered with the panels fastest, then the rows,
// then g.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>

#include "codegen/cpu/gemm/Tiles.h"
#include "codegen/schedule/template/Emit.h"
#include "codegen/schedule/template/TileExpr.h"

namespace tcc::codegen::gemm {

/// A part of the per-thread scratch memory.
class Scratch {
public:
  /// Reserves `count` elements, aligned to 64 bytes; the value is the byte offset.
  int64_t reserve(int64_t count, mlir::Type element);
  int64_t bytes() const { return size; }
  static mlir::Value view(Emit &e, const Frame &frame, int64_t offset, int64_t count, mlir::Type element);

private:
  int64_t size = 0;
};

struct GemmCore {
  mlir::AffineExpr batch, m, n, k; ///< over symbols
  mlir::Type compute;              ///< accumulation type
  GemmTiles tiles;

  /// A read in place: the element's offset in `aBuffer` as an expression of (g, m, k), linear in m and k with constant
  /// strides.
  mlir::AffineExpr aOffset;
  int aBuffer = -1;
  /// Otherwise: copies rows [row, row + rows) and columns [k, k + depth) of A to `to` (of type compute). Element (r, j)
  /// goes to r * rowStride + j; up to the next multiple of `lanes` columns may be written beyond depth.
  std::function<void(Emit &, const Frame &, mlir::Value g, mlir::Value row, mlir::Value rows, mlir::Value k,
                     mlir::Value depth, mlir::Value to, int64_t rowStride)>
      packA;

  enum class B {
    Panels,  ///< bBuffer holds panels: element (g, k, n) at ((g * panelCount + n / width) * K + k) * width + n % width
    InPlace, ///< bOffset of (g, k, n), with stride 1 along n
    Packed,  ///< packB makes the panels of a work item
  } b = B::Panels;
  int bBuffer = -1;
  mlir::AffineExpr bOffset;
  bool bBatched = true; ///< Panels: whether they differ from one g to the next
  /// Writes row j of panel [n, n + panelWidth) of B, for j in [k, k + depth), to `to` at base + (j - k) * panelWidth.
  std::function<void(Emit &, const Frame &, mlir::Value g, mlir::Value k, mlir::Value depth, mlir::Value n,
                     mlir::Value to, mlir::Value base)>
      packB;
  mlir::Type bPackedType; ///< Packed: element type of the panels

  /// Consumes a vector of C at (g, m, n...n + lanes - 1), of which `count` lanes are valid (null: all), as `mask` says.
  std::function<void(Emit &, const Frame &, mlir::Value g, mlir::Value m, mlir::Value n, mlir::Value value,
                     int64_t lanes, mlir::Value count, mlir::Value mask)>
      epilogue;
  bool unrollEpilogue = false; ///< applied to the accumulators at once rather than in a loop over rows

  /// Lays out scratch memory; before emit and scratchBytes.
  void layout();
  int64_t scratchBytes() const { return scratch.bytes(); }
  mlir::AffineExpr items() const;
  void emit(Emit &e, const Frame &frame) const;

private:
  std::optional<int64_t> constant(mlir::AffineExpr expr) const;
  bool splitK() const;
  mlir::AffineExpr tilesOfRows() const;
  struct Block;
  void emitItem(Emit &e, const Frame &frame, const Block &block) const;
  void emitPanel(Emit &e, const Frame &frame, const Block &block, mlir::Value panel, int64_t vectors, bool tail) const;
  void emitTile(Emit &e, const Frame &frame, const Block &block, mlir::Value panel, int64_t vectors, bool tail,
                mlir::Value tile, int64_t rows, bool exact) const;

  Scratch scratch;
  int64_t aScratch = -1, bScratch = -1, cScratch = -1, aRowStride = 0;
};

} // namespace tcc::codegen::gemm
