// https://onnx.ai/onnx/operators/onnx__Where.html
#include "frontend/onnx/import/Conversions.h"

namespace tcc::onnx {

void convertWhere(NodeBuilder &b) { b.result(b.select(b.input(0), b.input(1), b.input(2))); }

} // namespace tcc::onnx
