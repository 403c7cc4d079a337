// CumSum and CumProd; an axis that arrives at run time selects between the axes there are.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static void convertScan(NodeBuilder &b, ir::ReduceKind kind) {
  Value x = b.input(0);
  auto along = [&](int64_t axis) {
    return b.emit<ir::ScanOp>(x, {b.attr("kind", ir::ReduceKindAttr::get(b.context(), kind)), b.i64("axis", axis),
                                  b.flag("exclusive", b.intAttr("exclusive", 0) != 0),
                                  b.flag("reverse", b.intAttr("reverse", 0) != 0)});
  };
  Value axis = b.input(1);
  if (std::optional<Ints> known = b.constantInts(axis)) {
    b.check(known->size() == 1, "axis must have one element");
    b.result(along(b.normalizeAxis(known->front(), b.rank(x))));
    return;
  }
  axis = b.cast(b.reshape(axis, ArrayRef<int64_t>{}), b.i64Type());
  b.check(b.rank(x) > 0, "needs an input of rank 1 or more");
  // Looked up in the list of axes: a negative one counts from the end, one that does not exist is an error.
  axis = b.gather(b.vectorI64(llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)))), axis, 0);
  Value result = along(0);
  if (b.rank(x) == 1)
    result = b.select(b.compare(axis, b.scalarInt(b.i64Type(), 0), ir::Predicate::Eq), result, b.like(x, 0));
  for (int64_t i = 1; i < b.rank(x); ++i)
    result = b.select(b.compare(axis, b.scalarInt(b.i64Type(), i), ir::Predicate::Eq), along(i), result);
  b.result(result);
}

void convertCumSum(NodeBuilder &b) { convertScan(b, ir::ReduceKind::Sum); }
void convertCumProd(NodeBuilder &b) { convertScan(b, ir::ReduceKind::Prod); }

} // namespace tcc::onnx
