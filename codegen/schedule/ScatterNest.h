//===- ScatterNest.h - loops that make a scatter's updates --------*- C++ -*-===//
#pragma once

#include "codegen/schedule/BodyEmitter.h"

namespace tcc::codegen {

/// Positions of a scatter are dimensions from here on, beyond those of opaque indices.
constexpr unsigned kFirstPosition = kFirstOpaqueDim + 1000000;

/// Makes the updated element, as an offset over the nest's dimensions and the positions, one of the nest's accesses
/// (nest.offset[scatter]), and the scatter's mask one of its conditions.
void addScatterTarget(LoopNest &nest, ir::ScatterOp scatter);

/// Dimensions along which points never meet: they are indices of the result as they are (and are not merged with one
/// that is not).
llvm::SmallVector<bool> separateDims(const LoopNest &nest, ir::ScatterOp scatter);

/// Those dimensions, over which threads may work at once.
struct ScatterSplit {
  llvm::SmallVector<unsigned> outer;
  int inner = -1; ///< along which neighbours are neighbours in the result; -1: none
};
ScatterSplit splitScatter(const LoopNest &nest, ir::ScatterOp scatter);

/// Whether a value of the body, or an expression, may differ along a dimension.
bool dependsOn(const LoopNest &nest, mlir::Value value, unsigned dim);
bool dependsOn(const LoopNest &nest, mlir::AffineExpr expr, unsigned dim);

/// The element after an update: scalars or vectors of the compute type.
mlir::Value combineUpdate(mlir::OpBuilder &b, mlir::Location loc, ir::ScatterOp scatter, mlir::Value old,
                          mlir::Value update);

/// Emits what is done at the element of the result that a point updates, where the scatter's mask holds; `use` gets its
/// offset. `results` is what the nest's body yields at the point: the positions, then the update.
void atScatterTarget(mlir::OpBuilder &b, const LoopNest &nest, ir::ScatterOp scatter, const Point &point,
                     mlir::ValueRange results, llvm::ArrayRef<mlir::Value> symbols,
                     llvm::function_ref<void(mlir::Value offset)> use);

/// Updates an element of `memref`, or side by side the elements of all lanes of the point (which have the same
/// positions).
void emitScatterUpdate(mlir::OpBuilder &b, const LoopNest &nest, ir::ScatterOp scatter, const Point &point,
                       mlir::ValueRange results, mlir::Value memref, llvm::ArrayRef<mlir::Value> symbols,
                       bool nativeBf16 = false);

} // namespace tcc::codegen
