// https://onnx.ai/onnx/operators/onnx__Trilu.html
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertTrilu(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 2, "needs a rank of at least 2");
  Value k = b.has(1) ? b.reshape(b.input(1), ArrayRef<int64_t>{}) : b.scalarInt(b.i64Type(), 0);
  Exprs all = b.extents(x);
  Exprs plane(all.end() - 2, all.end());
  Value row = b.iota(plane, 0, b.i64Type()), column = b.iota(plane, 1, b.i64Type());
  bool upper = b.intAttr("upper", 1) != 0;
  // Upper keeps column - row >= k, lower column - row <= k.
  Value keep = b.compare(b.sub(column, row), k, upper ? ir::Predicate::Ge : ir::Predicate::Le);
  b.result(b.select(keep, x, b.isBool(x) ? b.scalarInt(b.i1Type(), 0) : b.like(x, 0)));
}

} // namespace tcc::onnx
