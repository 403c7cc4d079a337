// Softmax and LogSoftmax: along one axis since op set 13, before that over everything from `axis` on.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static StringRef softmaxOp(NodeBuilder &b) { return b.op() == "Softmax" ? "tcc.softmax" : "tcc.log_softmax"; }

void convertSoftmax(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.create(softmaxOp(b), x, b.i64("axis", b.normalizeAxis(b.intAttr("axis", -1), b.rank(x)))).front());
}

void convertSoftmaxFlattened(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.intAttr("axis", 1);
  axis = axis == b.rank(x) ? axis : b.normalizeAxis(axis, b.rank(x));
  if (axis == b.rank(x) - 1) {
    b.result(b.create(softmaxOp(b), x, b.i64("axis", axis)).front());
    return;
  }
  Exprs e = b.extents(x);
  Value flat = b.reshape(x, {ir::product(b.context(), ArrayRef(e).take_front(axis)),
                             ir::product(b.context(), ArrayRef(e).drop_front(axis))});
  b.result(b.reshape(b.create(softmaxOp(b), flat, b.i64("axis", 1)).front(), e));
}

} // namespace tcc::onnx
