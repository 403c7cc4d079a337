// https://onnx.ai/onnx/operators/onnx__SwiGLU.html: swish(a) * b
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertSwiGLU(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttr("alpha", 1);
  Value gate = b.mul(x, b.unary<ir::SigmoidOp>(alpha == 1 ? x : b.mul(x, alpha)));
  b.result(b.mul(gate, b.input(1)));
}

} // namespace tcc::onnx
