//===- Lowering.h - one level-1 op as the loops of a kernel ------*- C++ -*-===//
#pragma once

#include "codegen/fusion/KernelBuilder.h"

namespace tcc::codegen {

/// Fills the body of a kernel for one op and returns what it yields; nothing if the op has no form as loops (for these
/// types and attributes): it then stays a library call. One function for each family, in the file of that name.
using LoweredValues = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

LoweredValues lowerPointwise(mlir::Operation *op, KernelBuilder &kernel);
LoweredValues lowerBroadcast(ir::BroadcastOp op, KernelBuilder &kernel);
LoweredValues lowerTranspose(ir::TransposeOp op, KernelBuilder &kernel);
LoweredValues lowerReshape(ir::ReshapeOp op, KernelBuilder &kernel);
LoweredValues lowerSlice(ir::SliceOp op, KernelBuilder &kernel);
LoweredValues lowerPad(ir::PadOp op, KernelBuilder &kernel);
LoweredValues lowerConcat(ir::ConcatOp op, KernelBuilder &kernel);
LoweredValues lowerIota(ir::IotaOp op, KernelBuilder &kernel);
LoweredValues lowerGather(ir::GatherOp op, KernelBuilder &kernel);
LoweredValues lowerGatherElements(ir::GatherElementsOp op, KernelBuilder &kernel);
LoweredValues lowerGatherNd(ir::GatherNdOp op, KernelBuilder &kernel);
LoweredValues lowerScatterElements(ir::ScatterElementsOp op, KernelBuilder &kernel);
LoweredValues lowerScatterNd(ir::ScatterNdOp op, KernelBuilder &kernel);
LoweredValues lowerReduce(ir::ReduceOp op, KernelBuilder &kernel);
LoweredValues lowerArgReduce(ir::ArgReduceOp op, KernelBuilder &kernel);
LoweredValues lowerSoftmax(mlir::Operation *op, KernelBuilder &kernel);
LoweredValues lowerLayerNorm(ir::LayerNormOp op, KernelBuilder &kernel);
LoweredValues lowerRmsNorm(ir::RmsNormOp op, KernelBuilder &kernel);
LoweredValues lowerPool(mlir::Operation *op, KernelBuilder &kernel);
LoweredValues lowerResize(ir::ResizeOp op, KernelBuilder &kernel);
LoweredValues lowerGridSample(ir::GridSampleOp op, KernelBuilder &kernel);
/// matmul, conv, conv_transpose, attention: the op itself, inside the kernel.
LoweredValues lowerTemplate(mlir::Operation *op, KernelBuilder &kernel);

/// The family that lowers an op.
LoweredValues lowerOp(mlir::Operation *op, KernelBuilder &kernel);

/// Exprs of a tensor value's extents and its element type (with sign).
inline ir::Exprs extentsOf(mlir::Value tensor) { return ir::getExtents(tensor.getType()); }
inline mlir::Type elementOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}
/// Result values as lowerings return them.
inline LoweredValues lowered(mlir::Value value) { return llvm::SmallVector<mlir::Value>{value}; }

/// An integer scalar as an index into an axis of `extent` elements: negative ones count from the end, out of range is
/// reported.
mlir::Value checkedIndex(Nest &nest, mlir::Value scalar, mlir::Type elementType, mlir::AffineExpr extent);
/// Nothing can be read or written where an axis may have no elements: the mask of such accesses.
void maskEmpty(mlir::Operation *op, mlir::AffineExpr extent, ir::Exprs &mask);

/// Indices of a tensor with extents `from` at the place that `index` has in row-major order over extents `to`. Runs of
/// axes with equal products are matched, so that most reshapes need no division.
ir::Exprs reshapeIndices(llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to,
                         llvm::ArrayRef<mlir::AffineExpr> index);

} // namespace tcc::codegen
