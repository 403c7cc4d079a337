// https://onnx.ai/onnx/operators/onnx__EyeLike.html
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertEyeLike(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 2, "needs a matrix");
  Type type = b.dtypeAttr("dtype", b.elementType(x));
  Value row = b.iota(b.extents(x), 0, b.i64Type()), column = b.iota(b.extents(x), 1, b.i64Type());
  Value shifted = b.add(row, b.scalarInt(b.i64Type(), b.intAttr("k", 0)));
  b.result(b.cast(b.compare(shifted, column, ir::Predicate::Eq), type));
}

} // namespace tcc::onnx
