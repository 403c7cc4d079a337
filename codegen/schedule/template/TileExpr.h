//===- TileExpr.h - index expressions of a tile -------------------*- C++ -*-===//
//
// Templates walk tiles of a space (batch, row, column) while loops and tensors are indexed in spaces of their own.
// These functions compose, simplify and invert the affine expressions between them and say how an expression moves
// along the lanes of a vector.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen::gemm {

using Exprs = llvm::SmallVector<mlir::AffineExpr>;

/// Sums of products in a canonical order, with (x floordiv c) * c * k + (x mod c) * k put together again as x * k, also
/// for symbolic c.
mlir::AffineExpr simplify(mlir::AffineExpr expr);

/// Row-major offset of a coordinate.
mlir::AffineExpr rowMajorOffset(llvm::ArrayRef<mlir::AffineExpr> coordinate, llvm::ArrayRef<mlir::AffineExpr> extents,
                                mlir::MLIRContext *context);
/// Coordinate of a row-major offset.
Exprs delinearize(mlir::AffineExpr offset, llvm::ArrayRef<mlir::AffineExpr> extents);

/// By how much `expr` grows from one lane to the next where dimension `dim` takes consecutive values that start at a
/// multiple of `lanes`; nothing where that is not a constant over the whole vector.
std::optional<int64_t> laneStride(mlir::AffineExpr expr, unsigned dim, int64_t lanes);

/// expr(dim + 1) - expr(dim) where that depends on symbols only.
std::optional<mlir::AffineExpr> dimStride(mlir::AffineExpr expr, unsigned dim, unsigned numDims);

/// Replaces dimensions; symbols stay.
mlir::AffineExpr substitute(mlir::AffineExpr expr, llvm::ArrayRef<mlir::AffineExpr> dims);

/// For a map from a loop nest of extents `from` onto a space of extents `to`: the coordinates of the nest as
/// expressions of those of the space (as dimensions d0...). Knows compositions of permutations with reshapes; nothing
/// for a map that is not one to one.
std::optional<Exprs> invert(mlir::AffineMap map, llvm::ArrayRef<mlir::AffineExpr> from,
                            llvm::ArrayRef<mlir::AffineExpr> to);

/// The value for given dimensions and symbols.
int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> symbols);

} // namespace tcc::codegen::gemm
