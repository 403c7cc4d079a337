// Cast, CastLike, BitCast.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

// Largest finite value of the float8 kinds; nothing for other types.
static std::optional<double> largestFloat8(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return 448;
  if (isa<Float8E4M3FNUZType>(type))
    return 240;
  if (isa<Float8E5M2Type, Float8E5M2FNUZType>(type))
    return 57344;
  return std::nullopt;
}

// `clampInfinities`: saturation maps them to the largest value for the FNUZ kinds too (older op sets: to NaN).
static Value convert(NodeBuilder &b, Value x, Type to, bool clampInfinities) {
  bool saturate = b.intAttr("saturate", 1) != 0;
  if (isa<ir::StringType>(to) || isa<ir::StringType>(b.elementType(x)))
    b.fail("casts from and to strings are not supported");
  std::string mode = b.stringAttr("round_mode", "up");
  b.check(mode == "up", "attribute 'round_mode' other than \"up\" is not supported");
  std::optional<double> largest = largestFloat8(to);
  if (saturate && clampInfinities && largest && b.isFloat(x) && b.bitWidth(b.elementType(x)) > 8)
    x = b.min(b.max(x, -*largest), *largest);
  // Floats to the sub-byte integers keep the low bits, unlike to wider ones.
  if (b.isFloat(x) && isa<IntegerType>(to) && b.bitWidth(to) < 8 && !to.isInteger(1))
    x = b.cast(x, b.builder.getI32Type());
  return b.cast(x, to, saturate);
}

static void castTo(NodeBuilder &b, bool clampInfinities) {
  b.check(b.hasAttr("to"), "attribute 'to' is missing");
  b.result(convert(b, b.input(0), b.dtypeAttr("to", {}), clampInfinities));
}

void convertCast(NodeBuilder &b) { castTo(b, /*clampInfinities=*/true); }
void convertCastInfinityToNaN(NodeBuilder &b) { castTo(b, /*clampInfinities=*/false); }
void convertCastLike(NodeBuilder &b) {
  b.result(convert(b, b.input(0), b.elementType(b.input(1)), /*clampInfinities=*/true));
}
void convertCastLikeInfinityToNaN(NodeBuilder &b) {
  b.result(convert(b, b.input(0), b.elementType(b.input(1)), /*clampInfinities=*/false));
}

void convertBitCast(NodeBuilder &b) {
  b.check(b.hasAttr("to"), "attribute 'to' is missing");
  Value x = b.input(0);
  Type to = b.dtypeAttr("to", {});
  Type u8 = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  // Bools are bytes of 0 and 1 here, so that their bits as bytes are their numbers.
  if (b.isBool(x) && b.bitWidth(to) == 8)
    x = b.cast(x, u8);
  b.result(to == b.elementType(x) ? x : b.emit<ir::BitcastOp>(x, {}, ir::withElementType(b.type(x), to)));
}

} // namespace tcc::onnx
