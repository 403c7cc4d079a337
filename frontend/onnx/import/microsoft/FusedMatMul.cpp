// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md: alpha * A' * B', each perhaps
// transposed.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertMicrosoftFusedMatMul(NodeBuilder &b) {
  b.check(b.intAttr("transBatchA", 0) == 0 && b.intAttr("transBatchB", 0) == 0,
          "attributes 'transBatchA' and 'transBatchB' are not supported");
  auto operand = [&](size_t i, StringRef transposed) {
    Value x = b.input(i); // a vector has nothing to transpose
    return b.intAttr(transposed, 0) != 0 && b.rank(x) > 1 ? b.transposeLast(x) : x;
  };
  Value y = b.matmul(operand(0, "transA"), operand(1, "transB"));
  double alpha = b.floatAttr("alpha", 1);
  b.result(alpha == 1 ? y : b.mul(y, alpha));
}

} // namespace tcc::onnx
