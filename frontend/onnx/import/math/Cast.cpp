// Cast, CastLike, BitCast.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value convert(NodeBuilder &b, Value x, Type to) {
  bool saturate = b.intAttr("saturate", 1) != 0;
  if (isa<ir::StringType>(to) || isa<ir::StringType>(b.elementType(x)))
    b.fail("casts from and to strings are not supported");
  std::string mode = b.stringAttr("round_mode", "up");
  b.check(mode == "up", "attribute 'round_mode' other than \"up\" is not supported");
  return b.cast(x, to, saturate);
}

void convertCast(NodeBuilder &b) {
  b.check(b.hasAttr("to"), "attribute 'to' is missing");
  b.result(convert(b, b.input(0), b.dtypeAttr("to", {})));
}

void convertCastLike(NodeBuilder &b) { b.result(convert(b, b.input(0), b.elementType(b.input(1)))); }

void convertBitCast(NodeBuilder &b) {
  b.check(b.hasAttr("to"), "attribute 'to' is missing");
  Value x = b.input(0);
  Type to = b.dtypeAttr("to", {});
  b.result(to == b.elementType(x) ? x : b.emit<ir::BitcastOp>(x, {}, ir::withElementType(b.type(x), to)));
}

} // namespace tcc::onnx
