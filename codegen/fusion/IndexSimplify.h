//===- IndexSimplify.h - quasi-affine indices with known ranges --*- C++ -*-===//
//
// Composed index maps are full of divisions that the ranges of loops make trivial: (d0 * 64 + d1) floordiv 64 is d0
// where d1 < 64. Works for constant and symbolic divisors alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Extents.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen {

/// Dimensions count from 0 up to an extent, exclusive: an expression over symbols, or null where nothing is known.
class IndexRanges {
public:
  IndexRanges(llvm::ArrayRef<mlir::AffineExpr> dimExtents, mlir::ArrayAttr symbols)
      : extents(dimExtents), symbols(symbols) {}

  /// Equal for all indices in range, with fewer divisions and remainders where possible.
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;
  /// Simplified constraints; those that always hold are gone. Nothing where one never holds.
  std::optional<mlir::IntegerSet> simplify(mlir::IntegerSet set) const;
  /// Whether the expression is at least 0, for all indices in range.
  bool isNonNegative(mlir::AffineExpr expr) const;
  /// Whether 0 <= expr < limit.
  bool isWithin(mlir::AffineExpr expr, mlir::AffineExpr limit) const {
    return isNonNegative(expr) && isNonNegative(limit - 1 - expr);
  }

private:
  mlir::AffineExpr simplifyDivision(mlir::AffineExpr lhs, mlir::AffineExpr divisor, bool remainder) const;
  llvm::SmallVector<mlir::AffineExpr> extents;
  mlir::ArrayAttr symbols;
};

} // namespace tcc::codegen
