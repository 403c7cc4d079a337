// MatMul and Gemm.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertMatMul(NodeBuilder &b) { b.result(b.matmul(b.input(0), b.input(1))); }

// https://onnx.ai/onnx/operators/onnx__Gemm.html: alpha * A' * B' + beta * C
void convertGemm(NodeBuilder &b) {
  Value x = b.input(0), w = b.input(1);
  b.check(b.rank(x) == 2 && b.rank(w) == 2, "operands must be matrices");
  if (b.intAttr("transA", 0))
    x = b.transposeLast(x);
  if (b.intAttr("transB", 0))
    w = b.transposeLast(w);
  Value y = b.matmul(x, w);
  if (double alpha = b.floatAttr("alpha", 1); alpha != 1)
    y = b.mul(y, alpha);
  if (Value c = b.optionalInput(2)) {
    if (double beta = b.floatAttr("beta", 1); beta != 1)
      c = b.mul(c, beta);
    y = b.add(y, b.broadcastTo(c, b.extents(y)));
  }
  b.result(y);
}

} // namespace tcc::onnx
