// SkipLayerNormalization and SkipSimplifiedLayerNormalization of com.microsoft: the norm of input + skip (+ bias), and
// that sum: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value skipSum(NodeBuilder &b, size_t bias) {
  Value sum = b.add(b.input(0), b.input(1));
  b.check(!b.wants(1) && !b.wants(2), "the outputs mean and inv_std_var are not supported");
  if (Value v = b.optionalInput(bias))
    sum = b.add(sum, v);
  if (b.wants(3))
    b.result(3, sum);
  return sum;
}

void convertMicrosoftSkipLayerNormalization(NodeBuilder &b) {
  Value sum = skipSum(b, 4);
  Value y =
      b.emit<ir::LayerNormOp>(sum, {b.i64("axis", b.rank(sum) - 1), b.f64("epsilon", b.floatAttr("epsilon", 1e-12f))});
  y = b.mul(y, b.input(2));
  if (Value beta = b.optionalInput(3))
    y = b.add(y, beta);
  b.result(0, y);
}

void convertMicrosoftSkipSimplifiedLayerNormalization(NodeBuilder &b) {
  Value sum = skipSum(b, 3);
  Value y =
      b.emit<ir::RmsNormOp>(sum, {b.i64("axis", b.rank(sum) - 1), b.f64("epsilon", b.floatAttr("epsilon", 1e-12f))});
  b.result(0, b.mul(y, b.input(2)));
}

} // namespace tcc::onnx
