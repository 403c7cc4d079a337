//===- IndexRange.h - whether indices fit in 32 bits --------------*- C++ -*-===//
#pragma once

#include "codegen/schedule/LoopNest.h"

namespace tcc::codegen::cuda {

/// Bounds of index expressions, over dimensions that run from 0 to an extent and symbols with their ranges.
class IndexRange {
public:
  explicit IndexRange(mlir::ArrayAttr symbols) : symbols(symbols) {}

  /// Whether no part of the expression, as it is written, leaves 32 bits.
  bool fits(mlir::AffineExpr expr, llvm::ArrayRef<mlir::AffineExpr> extents);
  /// Whether this holds for all extents, offsets and conditions of the nest. Values from data count as unbounded.
  bool fits(const LoopNest &nest);

private:
  struct Range {
    int64_t low, high;
  };
  std::optional<Range> bound(mlir::AffineExpr expr, llvm::ArrayRef<mlir::AffineExpr> extents);

  mlir::ArrayAttr symbols;
};

} // namespace tcc::codegen::cuda
