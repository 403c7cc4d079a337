// Ops that are one call of a reference kernel.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

// https://onnx.ai/onnx/operators/onnx__Det.html
void convertDet(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 2, "needs a rank of at least 2");
  Exprs extents = b.extents(x);
  extents.resize(extents.size() - 2);
  b.result(b.libraryOne("det", {x}, {}, b.tensorType(extents, b.elementType(x))));
}

} // namespace tcc::onnx
