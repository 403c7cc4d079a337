// ArgMax, ArgMin, Hardmax.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value argReduce(NodeBuilder &b, Value x, ir::ReduceKind kind, int64_t axis, bool keepDims, bool last) {
  return b.emit<ir::ArgReduceOp>(x, {b.attr("kind", ir::ReduceKindAttr::get(b.context(), kind)), b.i64("axis", axis),
                                     b.flag("keep_dims", keepDims), b.flag("select_last", last)});
}

static void convertArg(NodeBuilder &b, ir::ReduceKind kind) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x));
  b.result(argReduce(b, x, kind, axis, b.intAttr("keepdims", 1) != 0, b.intAttr("select_last_index", 0) != 0));
}

void convertArgMax(NodeBuilder &b) { convertArg(b, ir::ReduceKind::Max); }
void convertArgMin(NodeBuilder &b) { convertArg(b, ir::ReduceKind::Min); }

// One at the first largest element along the axis, zero elsewhere.
static Value hardmax(NodeBuilder &b, Value x, int64_t axis) {
  Value best = argReduce(b, x, ir::ReduceKind::Max, axis, /*keepDims=*/true, /*last=*/false);
  return b.cast(b.compare(b.iota(b.extents(x), axis, b.i64Type()), best, ir::Predicate::Eq), b.elementType(x));
}

void convertHardmax(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(hardmax(b, x, b.normalizeAxis(b.intAttr("axis", -1), b.rank(x))));
}

void convertHardmaxFlattened(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 1), b.rank(x));
  Exprs e = b.extents(x);
  Value flat = b.reshape(x, {ir::product(b.context(), ArrayRef(e).take_front(axis)),
                             ir::product(b.context(), ArrayRef(e).drop_front(axis))});
  b.result(b.reshape(hardmax(b, flat, 1), e));
}

} // namespace tcc::onnx
