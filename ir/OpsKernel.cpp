//===- OpsKernel.cpp - level 2: kernels and loops --------------------------===//
#include "ir/OpSupport.h"
#include "mlir/IR/IntegerSet.h"

#define GET_OP_CLASSES
#include "ir/OpsKernel.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerKernelOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsKernel.cpp.inc"
      >();
}

using mlir::LogicalResult;
using mlir::success;

/// Same extents, and the element type without its sign.
static bool isSignlessForm(mlir::Type type, mlir::Type original) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type), from = llvm::dyn_cast<mlir::RankedTensorType>(original);
  if (!tensor || !from || tensor.getShape() != from.getShape() || tensor.getEncoding() != from.getEncoding())
    return false;
  mlir::Type element = from.getElementType();
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element))
    element = mlir::IntegerType::get(type.getContext(), integer.getWidth());
  return tensor.getElementType() == element;
}

LogicalResult KernelOp::verify() {
  mlir::Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("the body needs one argument for each input");
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (!isSignlessForm(block.getArgument(index).getType(), input.getType()))
      return emitOpError() << "argument " << index
                           << " of the body must have the input's extents, and its element type "
                           << "without a sign";
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError("the body must yield one value for each result");
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (!isSignlessForm(value.getType(), getResult(index).getType()))
      return emitOpError() << "yielded value " << index
                           << " must have the result's extents, and its element type without "
                           << "a sign";
  unsigned templates = 0;
  for (mlir::Operation &op : block)
    templates += llvm::isa<MatmulOp, ConvOp, ConvTransposeOp, AttentionOp, ScatterOp>(op);
  if (templates > 1)
    return emitOpError("the body may hold at most one matmul, conv, conv_transpose, attention or scatter");
  return success();
}

LogicalResult LoopsOp::verify() {
  mlir::Block &block = getBody().front();
  size_t rank = getExtents().getExprs().size();
  int64_t reductions = getNumReductions();
  if (block.getNumArguments() != rank)
    return emitOpError("the body needs one index for each extent");
  for (mlir::BlockArgument argument : block.getArguments())
    if (!argument.getType().isIndex())
      return emitOpError("the body's arguments must be of type index");
  if (reductions < 0 || reductions > static_cast<int64_t>(rank))
    return emitOpError("num_reductions must be between 0 and the number of extents");
  if (getKinds().size() != (reductions ? getNumResults() : 0))
    return emitOpError("needs one combiner for each result of a reduction, and none without");
  for (auto kind : getKinds().getAsRange<ReduceKindAttr>())
    if (kind.getValue() == ReduceKind::Mean)
      return emitOpError("mean is no combiner: sum, and divide");
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError("the body must yield one scalar for each result");
  llvm::ArrayRef<mlir::AffineExpr> parallel = getExtents().getExprs().drop_back(reductions);
  for (auto [value, result] : llvm::zip(yield.getValues(), getResults())) {
    if (llvm::ArrayRef<mlir::AffineExpr>(ir::getExtents(result.getType())) != parallel)
      return emitOpError("results must have the extents of the parallel loops");
    if (value.getType() != tensorType(result).getElementType())
      return emitOpError() << "yields " << value.getType() << " for a result of " << result.getType();
  }
  return success();
}

LogicalResult LoadOp::verify() {
  if (static_cast<int64_t>(getMap().getNumResults()) != rankOf(getTensor()))
    return emitOpError("the map needs one result for each axis of the tensor");
  if (getMap().getNumDims() != getIndices().size())
    return emitOpError("the map needs one dimension for each index");
  if (getMask() && getMask()->getNumDims() != getIndices().size())
    return emitOpError("the mask needs one dimension for each index");
  mlir::Type element = tensorType(getTensor()).getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "loads " << getValue().getType() << " from a tensor of " << element;
  if (getFill() && getFill().getType() != element)
    return emitOpError() << "fills with " << getFill().getType() << " where the tensor holds " << element;
  if (getFill() && !getMask())
    return emitOpError("a fill without a mask is never used");
  return success();
}

LogicalResult ScatterOp::verify() {
  auto updates = tensorType(getUpdates());
  mlir::Type element = tensorType(getInto()).getElementType();
  if (updates.getElementType() != element)
    return emitOpError() << "updates elements of " << element << " with " << updates.getElementType();
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  if (!isFloat && !element.isSignlessInteger())
    return emitOpError() << "has no form for elements of " << element;
  if (getIsUnsigned() && isFloat)
    return emitOpError("compares floats as unsigned");
  for (mlir::Value position : getPositions())
    if (!tensorType(position).getElementType().isInteger(64) ||
        ir::getExtents(position.getType()) != ir::getExtents(updates))
      return emitOpError("needs positions of type i64, with the extents of the updates");
  unsigned dims = updates.getRank() + getPositions().size();
  if (getMap().getNumDims() != dims)
    return emitOpError("the map needs one dimension for each axis of the updates and for each tensor of positions");
  if (static_cast<int64_t>(getMap().getNumResults()) != rankOf(getInto()))
    return emitOpError("the map needs one result for each axis of what is scattered into");
  if (getMask() && getMask()->getNumDims() != dims)
    return emitOpError("the mask needs the dimensions of the map");
  return success();
}

LogicalResult BoundsCheckOp::verify() {
  if (ir::ExtentsAttr extent = getExtentAttr(); extent.getExprs().size() != 1)
    return emitOpError("needs one extent");
  return success();
}

LogicalResult InSetOp::verify() {
  if (getSet().getNumDims() != getIndices().size())
    return emitOpError("the set needs one dimension for each index");
  return success();
}

LogicalResult ApplyOp::verify() {
  if (getMap().getNumDims() != getIndices().size() || getMap().getNumResults() != 1)
    return emitOpError("the map needs one dimension for each index, and one result");
  return success();
}

} // namespace tcc::ir
