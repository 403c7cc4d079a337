//===- OpsPointwise.cpp - elementwise ops ----------------------------------===//
#include "ir/OpSupport.h"

#define GET_OP_CLASSES
#include "ir/OpsPointwise.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerPointwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsPointwise.cpp.inc"
      >();
}

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

} // namespace tcc::ir
