//===- OpsPointwise.cpp - elementwise ops ----------------------------------===//
#include "ir/OpSupport.h"

#include "ir/Folding.h"

#define GET_OP_CLASSES
#include "ir/OpsPointwise.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerPointwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsPointwise.cpp.inc"
      >();
}

using mlir::LogicalResult;
using mlir::OpFoldResult;
using mlir::success;

static mlir::Type boolLike(mlir::Value x) {
  return withElementType(tensorType(x), mlir::IntegerType::get(x.getContext(), 1));
}

TCC_INFER(IsNanOp, { return boolLike(a.getX()); })
TCC_INFER(IsInfOp, { return boolLike(a.getX()); })
TCC_INFER(CompareOp, { return boolLike(a.getA()); })
TCC_INFER(SelectOp, {
  if (a.getA().getType() != a.getB().getType() || boolLike(a.getA()) != a.getCondition().getType()) {
    (void)mlir::emitOptionalError(loc,
                                  "condition and both values must have the same extents, and the values the same type");
    return {};
  }
  return a.getA().getType();
})

//===- Verifiers ----------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  if (getExtents(getX().getType()) != getExtents(getType()))
    return emitOpError("must keep the extents");
  return success();
}

LogicalResult BitcastOp::verify() {
  if (getExtents(getX().getType()) != getExtents(getType()))
    return emitOpError("must keep the extents");
  mlir::Type from = tensorType(getX()).getElementType(), to = getType().getElementType();
  if (from.isIntOrFloat() && to.isIntOrFloat() && from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError() << "must keep the width, " << from << " and " << to << " differ";
  return success();
}

//===- Folders ------------------------------------------------------------------===//
//
// Only what holds for every value, NaN, infinities and the sign of zero included: x + 0.0 turns -0.0 into 0.0, so it
// stays; x - 0.0 and x + -0.0 do not.

/// Whether all elements are the integer or the float (sign of zero included).
static bool isSplat(mlir::Value value, int64_t integer, double number) {
  mlir::Attribute splat = getSplatValue(value);
  if (auto attr = llvm::dyn_cast_or_null<mlir::FloatAttr>(splat))
    return attr.getValue().bitwiseIsEqual(mlir::FloatAttr::get(attr.getType(), number).getValue());
  return llvm::isa_and_nonnull<mlir::IntegerAttr>(splat) && getSplatInt(value) == integer;
}

template <typename Op> static mlir::OpFoldResult foldInvolution(Op op) {
  auto inner = op.getX().template getDefiningOp<Op>();
  return inner ? mlir::OpFoldResult(inner.getX()) : mlir::OpFoldResult();
}
OpFoldResult NegOp::fold(FoldAdaptor) { return foldInvolution(*this); }
OpFoldResult NotOp::fold(FoldAdaptor) { return foldInvolution(*this); }

OpFoldResult AddOp::fold(FoldAdaptor) {
  if (isSplat(getB(), 0, -0.0))
    return getA();
  return isSplat(getA(), 0, -0.0) ? OpFoldResult(getB()) : OpFoldResult();
}
OpFoldResult SubOp::fold(FoldAdaptor) { return isSplat(getB(), 0, 0.0) ? OpFoldResult(getA()) : OpFoldResult(); }
OpFoldResult MulOp::fold(FoldAdaptor) {
  if (isSplat(getB(), 1, 1.0))
    return getA();
  return isSplat(getA(), 1, 1.0) ? OpFoldResult(getB()) : OpFoldResult();
}
OpFoldResult DivOp::fold(FoldAdaptor) { return isSplat(getB(), 1, 1.0) ? OpFoldResult(getA()) : OpFoldResult(); }
OpFoldResult PowOp::fold(FoldAdaptor) { return isSplat(getB(), 1, 1.0) ? OpFoldResult(getA()) : OpFoldResult(); }

template <typename Op> static mlir::OpFoldResult foldIdempotent(Op op) {
  return op.getA() == op.getB() ? mlir::OpFoldResult(op.getA()) : mlir::OpFoldResult();
}
OpFoldResult MaxOp::fold(FoldAdaptor) { return foldIdempotent(*this); }
OpFoldResult MinOp::fold(FoldAdaptor) { return foldIdempotent(*this); }
OpFoldResult AndOp::fold(FoldAdaptor) { return foldIdempotent(*this); }
OpFoldResult OrOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getA() == getB())
    return getA();
  if (std::optional<int64_t> condition = getSplatInt(getCondition()))
    return *condition ? getA() : getB();
  return {};
}

/// Whether every value of `from` is exactly one of `to`.
static bool isExactCast(mlir::Type from, mlir::Type to) {
  auto fromInt = llvm::dyn_cast<mlir::IntegerType>(from), toInt = llvm::dyn_cast<mlir::IntegerType>(to);
  if (fromInt && toInt) {
    bool fromUnsigned = fromInt.isUnsigned() || fromInt.getWidth() == 1;
    bool toUnsigned = toInt.isUnsigned() || toInt.getWidth() == 1;
    if (fromUnsigned == toUnsigned)
      return fromInt.getWidth() <= toInt.getWidth();
    return fromUnsigned && fromInt.getWidth() < toInt.getWidth();
  }
  auto fromFloat = llvm::dyn_cast<mlir::FloatType>(from), toFloat = llvm::dyn_cast<mlir::FloatType>(to);
  if (fromFloat && toFloat && fromFloat.getWidth() >= 16 && toFloat.getWidth() >= 32)
    return fromFloat.getWidth() < toFloat.getWidth();
  if (fromInt && toFloat && toFloat.getWidth() >= 16)
    return fromInt.getWidth() <= toFloat.getFPMantissaWidth();
  return false;
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<CastOp>();
      inner && inner.getX().getType() == getType() &&
      isExactCast(getType().getElementType(), tensorType(getX()).getElementType()))
    return inner.getX();
  return {};
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  auto inner = getX().getDefiningOp<BitcastOp>();
  return inner && inner.getX().getType() == getType() ? OpFoldResult(inner.getX()) : OpFoldResult();
}

} // namespace tcc::ir
