//===- MicroKernel.h - the innermost loop of matrix products ------*- C++ -*-===//
#pragma once

#include "codegen/schedule/template/Emit.h"

namespace tcc::codegen::gemm {

/// Elements of A for one register tile: element (r, k) is at base + rowOffsets[r] + k * kStride.
struct MicroA {
  mlir::Value memref;
  mlir::Value base;
  Values rowOffsets;
  mlir::Value kStride;
};

/// Rows of B for one register tile: vector v of row k is at base + k * kStride + v * lanes.
struct MicroB {
  mlir::Value memref;
  mlir::Value base;
  mlir::Value kStride;
  mlir::Value tailMask; ///< of the last vector; null: all lanes may be read
};

/// Sum over k in [0, depth) of A's column times B's row, into rows x vectors accumulators (row by row) that start from
/// `init`, or zero where that is empty. Few accumulators are split over k, so that the latency of an FMA is hidden.
Values emitMicroKernel(Emit &e, mlir::Type compute, int64_t rows, int64_t vectors, int64_t lanes, const MicroA &a,
                       const MicroB &b, mlir::Value depth, mlir::ValueRange init);

/// Transposes a square of `rows.size()` vectors of as many lanes (a power of two).
Values emitTranspose(Emit &e, mlir::ValueRange rows);

} // namespace tcc::codegen::gemm
