// Gelu, BiasGelu, FastGelu and QuickGelu of com.microsoft, which ONNX Runtime's optimizer writes:
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value gelu(NodeBuilder &b, Value x, Value inner) { return b.mul(b.mul(x, 0.5), b.add(inner, 1.0)); }

static Value exactGelu(NodeBuilder &b, Value x) {
  return gelu(b, x, b.unary<ir::ErfOp>(b.mul(x, 0.70710678118654752440)));
}

void convertMicrosoftGelu(NodeBuilder &b) { b.result(exactGelu(b, b.input(0))); }
void convertMicrosoftBiasGelu(NodeBuilder &b) { b.result(exactGelu(b, b.add(b.input(0), b.input(1)))); }

void convertMicrosoftFastGelu(NodeBuilder &b) {
  Value x = b.input(0);
  if (Value bias = b.optionalInput(1))
    x = b.add(x, bias);
  Value cubed = b.mul(b.mul(b.mul(x, x), x), 0.044715);
  b.result(gelu(b, x, b.unary<ir::TanhOp>(b.mul(b.add(x, cubed), 0.79788456080286535588))));
}

void convertMicrosoftQuickGelu(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.mul(x, b.unary<ir::SigmoidOp>(b.mul(x, b.floatAttr("alpha", 1.702f)))));
}

} // namespace tcc::onnx
