// https://onnx.ai/onnx/operators/onnx__Clip.html: min(max(x, low), high); both bounds optional, attributes before op
// set 11.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertClip(NodeBuilder &b) {
  Value x = b.input(0);
  if (Value low = b.optionalInput(1))
    x = b.max(x, low);
  if (Value high = b.optionalInput(2))
    x = b.min(x, high);
  b.result(x);
}

void convertClipAttributes(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.hasAttr("min"))
    x = b.max(x, b.floatAttr("min", 0));
  if (b.hasAttr("max"))
    x = b.min(x, b.floatAttr("max", 0));
  b.result(x);
}

} // namespace tcc::onnx
