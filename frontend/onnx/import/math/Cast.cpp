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
  // Floats to the sub-byte integers keep the low bits, unlike to wider ones.
  if (b.isFloat(x) && isa<IntegerType>(to) && to.getIntOrFloatBitWidth() < 8 && !to.isInteger(1))
    x = b.cast(x, b.builder.getI32Type());
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
  Type u8 = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  // Bools are bytes of 0 and 1 here, so that their bits as bytes are their numbers.
  if (b.isBool(x) && to.getIntOrFloatBitWidth() == 8)
    x = b.cast(x, u8);
  b.result(to == b.elementType(x) ? x : b.emit<ir::BitcastOp>(x, {}, ir::withElementType(b.type(x), to)));
}

} // namespace tcc::onnx
