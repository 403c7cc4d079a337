//===- ReshapeGroups.h - which axes a reshape merges and splits -*- C++ -*-===//
#pragma once

#include "ir/Extents.h"

namespace tcc::ir {

/// A run of source axes and a run of result axes with equal products.
struct ReshapeGroup {
  llvm::SmallVector<int64_t> from, to;
};

/// The finest such groups of a reshape, in order; empty if the two sides do not align (or have rank 0).
llvm::SmallVector<ReshapeGroup> groupAxes(llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to);

} // namespace tcc::ir
