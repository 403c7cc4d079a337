// https://onnx.ai/onnx/operators/onnx__BitShift.html
#include "frontend/onnx/import/Conversions.h"

namespace tcc::onnx {

void convertBitShift(NodeBuilder &b) {
  std::string direction = b.stringAttr("direction", "");
  b.check(direction == "LEFT" || direction == "RIGHT", "attribute 'direction' must be LEFT or RIGHT");
  b.result(b.binary(direction == "LEFT" ? "tcc.shift_left" : "tcc.shift_right", b.input(0), b.input(1)));
}

} // namespace tcc::onnx
