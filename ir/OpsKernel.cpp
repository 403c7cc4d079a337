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

LogicalResult KernelOp::verify() {
  mlir::Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("the body needs one argument for each input");
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError("the body must yield one value for each result");
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
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError("the body must yield one scalar for each result");
  llvm::ArrayRef<mlir::AffineExpr> parallel = getExtents().getExprs().drop_back(reductions);
  for (mlir::Value result : getResults())
    if (llvm::ArrayRef<mlir::AffineExpr>(ir::getExtents(result.getType())) != parallel)
      return emitOpError("results must have the extents of the parallel loops");
  return success();
}

LogicalResult LoadOp::verify() {
  if (static_cast<int64_t>(getMap().getNumResults()) != rankOf(getTensor()))
    return emitOpError("the map needs one result for each axis of the tensor");
  if (getMap().getNumDims() != getIndices().size())
    return emitOpError("the map needs one dimension for each index");
  if (getMask() && getMask()->getNumDims() != getIndices().size())
    return emitOpError("the mask needs one dimension for each index");
  return success();
}

} // namespace tcc::ir
