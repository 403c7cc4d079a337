// Sum, Mean, Max, Min of any number of operands.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value chain(NodeBuilder &b, StringRef op) {
  b.check(b.numInputs() > 0, "needs at least one input");
  Value result = b.input(0);
  for (size_t i = 1; i < b.numInputs(); ++i)
    result = b.binary(op, result, b.input(i));
  return result;
}

void convertSum(NodeBuilder &b) { b.result(chain(b, "tcc.add")); }
void convertMax(NodeBuilder &b) { b.result(chain(b, "tcc.max")); }
void convertMin(NodeBuilder &b) { b.result(chain(b, "tcc.min")); }
void convertMean(NodeBuilder &b) { b.result(b.div(chain(b, "tcc.add"), static_cast<double>(b.numInputs()))); }

} // namespace tcc::onnx
