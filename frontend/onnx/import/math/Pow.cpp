// https://onnx.ai/onnx/operators/onnx__Pow.html: the result has the type of the base, whatever that of the exponent.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertPow(NodeBuilder &b) {
  Value base = b.input(0), exponent = b.input(1);
  Type type = b.elementType(base);
  if (type == b.elementType(exponent)) {
    b.result(b.pow(base, exponent));
    return;
  }
  if (b.isFloat(base) || !b.isFloat(exponent)) {
    b.result(b.pow(base, b.cast(exponent, type)));
    return;
  }
  // Integer base, float exponent: computed in the wider float, then truncated.
  Type wide = b.bitWidth(type) > 32 ? b.builder.getF64Type() : b.elementType(exponent);
  b.result(b.cast(b.pow(b.cast(base, wide), b.cast(exponent, wide)), type));
}

} // namespace tcc::onnx
