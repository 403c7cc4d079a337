//===- OpsReduce.cpp - reductions, scans, normalisations, sorting ----------===//
#include "ir/OpSupport.h"

#define GET_OP_CLASSES
#include "ir/OpsReduce.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerReduceOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsReduce.cpp.inc"
      >();
}

using mlir::LogicalResult;
using mlir::success;

static mlir::Type reducedType(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims, mlir::Type elementType,
                              std::optional<mlir::Location> loc) {
  if (failed(checkAxes(loc, axes, rankOf(x))))
    return {};
  Exprs extents;
  for (auto [axis, extent] : llvm::enumerate(getExtents(x.getType()))) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      extents.push_back(extent);
    else if (keepDims)
      extents.push_back(mlir::getAffineConstantExpr(1, x.getContext()));
  }
  return makeTensorType(extents, elementType);
}

TCC_INFER(ReduceOp,
          { return reducedType(a.getX(), a.getAxes(), a.getKeepDims(), tensorType(a.getX()).getElementType(), loc); })
LogicalResult ReduceOp::verify() {
  if (!llvm::is_sorted(getAxes()))
    return emitOpError("axes must be sorted");
  return success();
}
TCC_INFER(ArgReduceOp, {
  return reducedType(a.getX(), a.getAxis(), a.getKeepDims(), mlir::IntegerType::get(a.getX().getContext(), 64), loc);
})
LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError("kind must be max or min");
  return success();
}

static mlir::Type sameWithAxis(mlir::Value x, int64_t axis, std::optional<mlir::Location> loc) {
  return failed(checkAxes(loc, axis, rankOf(x))) ? mlir::Type() : x.getType();
}
TCC_INFER(ScanOp, { return sameWithAxis(a.getX(), a.getAxis(), loc); })
LogicalResult ScanOp::verify() {
  if (getKind() == ReduceKind::Mean)
    return emitOpError("kind mean has no running form");
  return success();
}
TCC_INFER(SoftmaxOp, { return sameWithAxis(a.getX(), a.getAxis(), loc); })
TCC_INFER(LogSoftmaxOp, { return sameWithAxis(a.getX(), a.getAxis(), loc); })
TCC_INFER(LayerNormOp, { return sameWithAxis(a.getX(), a.getAxis(), loc); })
TCC_INFER(RmsNormOp, { return sameWithAxis(a.getX(), a.getAxis(), loc); })
LogicalResult TopKOp::verify() {
  if (failed(checkAxes(getLoc(), getAxis(), rankOf(getX()))))
    return mlir::failure();
  if (rankOf(getValues()) != rankOf(getX()) || getExtents(getValues().getType()) != getExtents(getIndices().getType()))
    return emitOpError("values and indices must have the same extents, and the operand's rank");
  if (tensorType(getValues()).getElementType() != tensorType(getX()).getElementType() ||
      !tensorType(getIndices()).getElementType().isSignlessInteger(64))
    return emitOpError("values must have the operand's element type, indices i64");
  for (int64_t axis = 0; axis < rankOf(getX()); ++axis) {
    mlir::AffineExpr from = getExtent(getX().getType(), axis), to = getExtent(getValues().getType(), axis);
    if (axis != static_cast<int64_t>(getAxis()) && !maybeEqual(from, to))
      return emitOpError() << "changes the extent of axis " << axis;
    auto available = getConstant(from), k = getConstant(to);
    if (axis == static_cast<int64_t>(getAxis()) && available && k && *k > *available)
      return emitOpError() << "takes " << *k << " of the " << *available << " elements of axis " << axis;
  }
  return success();
}

} // namespace tcc::ir
