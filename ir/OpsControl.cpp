//===- OpsControl.cpp - control flow and library calls ---------------------===//
#include "ir/OpSupport.h"

#define GET_OP_CLASSES
#include "ir/OpsControl.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerControlOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsControl.cpp.inc"
      >();
}

using mlir::LogicalResult;
using mlir::success;

/// Same rank and element type: extents may differ, they are symbols then.
static bool sameRankAndElement(mlir::Type a, mlir::Type b) {
  auto l = llvm::dyn_cast<mlir::RankedTensorType>(a), r = llvm::dyn_cast<mlir::RankedTensorType>(b);
  return l && r && l.getRank() == r.getRank() && l.getElementType() == r.getElementType();
}

LogicalResult IfOp::verify() {
  if (tensorType(getCondition()).getRank() != 0)
    return emitOpError("condition must be a scalar");
  for (mlir::Region *region : {&getThenRegion(), &getElseRegion()}) {
    auto yield = llvm::dyn_cast<YieldOp>(region->front().back());
    if (!yield || yield.getValues().size() != getNumResults())
      return emitOpError("each branch must yield one value for each result");
    for (auto [value, result] : llvm::zip(yield.getValues(), getResults()))
      if (!sameRankAndElement(value.getType(), result.getType()))
        return emitOpError("branches must yield values of the result's rank and element type");
  }
  return success();
}

LogicalResult LoopOp::verify() {
  mlir::Block &block = getBody().front();
  size_t carried = getInitial().size();
  if (block.getNumArguments() != carried + 1)
    return emitOpError("the body needs the iteration and one argument for each carried value");
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults() + 1 || getNumResults() < carried)
    return emitOpError("the body must yield the condition, the carried values and the scan outputs");
  for (size_t k = 0; k < carried; ++k)
    if (!sameRankAndElement(getInitial()[k].getType(), block.getArgument(k + 1).getType()) ||
        !sameRankAndElement(yield.getValues()[k + 1].getType(), block.getArgument(k + 1).getType()) ||
        !sameRankAndElement(getResult(k).getType(), block.getArgument(k + 1).getType()))
      return emitOpError() << "carried value " << k << " changes its rank or element type";
  return success();
}

LogicalResult LibraryOp::verify() {
  if (getKernel().empty())
    return emitOpError("needs the name of a kernel");
  return success();
}

} // namespace tcc::ir
