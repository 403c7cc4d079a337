//===- Folding.cpp - constant folding with the reference kernels -----------===//
#include "ir/Dialect.h"

namespace tcc::ir {

mlir::LogicalResult foldWithReference(mlir::Operation *, llvm::ArrayRef<mlir::Attribute>,
                                      llvm::SmallVectorImpl<mlir::OpFoldResult> &) {
  return mlir::failure();
}

} // namespace tcc::ir
