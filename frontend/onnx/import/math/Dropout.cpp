// Inference: the identity, and a mask of ones. With training_mode true and a ratio other than 0 it draws random
// numbers.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertDropout(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.has(2) && b.constantScalarInput(2, "training_mode") != 0) {
    SmallVector<double> ratio = b.has(1) ? b.constantFloatsInput(1, "the ratio") : SmallVector<double>{0.5};
    b.check(ratio.size() == 1 && ratio.front() == 0, "training mode is not supported");
  }
  b.result(0, x);
  if (b.wants(1))
    b.result(1, b.full(b.extents(x), b.scalarInt(b.version < 10 ? b.elementType(x) : b.i1Type(), 1)));
}

} // namespace tcc::onnx
