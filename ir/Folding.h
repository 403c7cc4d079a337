//===- Folding.h - how ops fold ---------------------------------*- C++ -*-===//
#pragma once

#include <optional>

#include "ir/Dialect.h"

namespace tcc::ir {

/// Elements that a folded constant may have while the graph is built; more are the business of the constant folding
/// pass.
inline constexpr int64_t kMaxFoldedElements = 64 * 1024;
/// Elements of small integer tensors that may be symbolic (tcc.extents).
inline constexpr int64_t kMaxSymbolicElements = 64;

/// Whether the op only repeats or generates elements (broadcast, iota, pad, resize): as a constant it would take memory
/// that the fused op does not.
bool isGrowing(mlir::Operation *op);

/// Folds with the reference kernel where each operand has a constant value, results are static and have at most
/// `maxElements`, and the work is in proportion. Splats stay splats. Anything else, kernel errors included: failure.
mlir::LogicalResult foldConstants(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                                  llvm::SmallVectorImpl<mlir::OpFoldResult> &results,
                                  int64_t maxElements = kMaxFoldedElements);

/// Folds small integer tensors some of which are #tcc.extents; results are #tcc.extents, or elements where all are
/// constant.
mlir::LogicalResult foldSymbolic(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                                 llvm::SmallVectorImpl<mlir::OpFoldResult> &results);

/// The one value of all elements, also through broadcasts, reshapes and other movement of a splat; null if there is
/// none.
mlir::Attribute getSplatValue(mlir::Value value);
/// The same as a number, of integers and bools.
std::optional<int64_t> getSplatInt(mlir::Value value);

} // namespace tcc::ir
