// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: plain arithmetic, which fuses with what is around it.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

// A scale or zero point as an operand that broadcasts over x: per tensor, per axis, or per block along the axis.
static Value spread(NodeBuilder &b, Value parameter, Value x) {
  if (b.rank(parameter) == 0 || (b.rank(parameter) == 1 && b.constantExtent(parameter, 0) == 1 && b.rank(x) != 1))
    return b.reshape(parameter, ArrayRef<int64_t>{});
  b.check(b.rank(x) > 0, "a scalar has no axis for several scales");
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 1), b.rank(x));
  int64_t block = b.sizeAttr("block_size", 0);
  if (block == 0) {
    b.check(b.rank(parameter) == 1, "a scale per axis must be of rank 1");
    Exprs extents(b.rank(x), b.expr(1));
    extents[axis] = b.extent(parameter, 0);
    return b.reshape(parameter, extents);
  }
  b.check(b.rank(parameter) == b.rank(x), "a scale per block must have the rank of the input");
  Exprs e = b.extents(parameter), wide = e, target = b.extents(x);
  wide.insert(wide.begin() + axis + 1, b.expr(block));
  Value repeated = b.broadcastTo(b.unsqueeze(parameter, {axis + 1}), wide);
  Exprs merged = e;
  merged[axis] = ir::simplifyExtent(e[axis] * block);
  return b.sliceAxis(b.reshape(repeated, merged), axis, b.expr(0), target[axis]);
}

void convertQuantizeLinear(NodeBuilder &b) {
  Value x = b.input(0), scale = b.input(1), zero = b.optionalInput(2);
  Type to =
      zero ? b.elementType(zero) : b.dtypeAttr("output_dtype", IntegerType::get(b.context(), 8, IntegerType::Unsigned));
  // float16 cannot hold the quotient's rounding exactly: float32, or what attribute precision says.
  Type wide = b.dtypeAttr("precision", b.f32Type());
  if (b.bitWidth(wide) < 32)
    wide = b.f32Type();
  Value y = b.div(b.cast(x, wide), spread(b, b.cast(scale, wide), x));
  bool integer = isa<IntegerType>(to);
  if (integer)
    y = b.unary<ir::RoundOp>(y);
  if (zero && integer)
    y = b.add(y, spread(b, b.cast(zero, wide), x));
  // A float to integer cast takes the nearest bound where out of range, except for the sub-byte types.
  if (integer && b.bitWidth(to) < 8) {
    double steps = 1 << b.bitWidth(to), least = to.isUnsignedInteger() ? 0 : -steps / 2;
    y = b.min(b.max(y, least), least + steps - 1);
    y = b.cast(y, b.builder.getI32Type());
  }
  b.result(b.cast(y, to, b.intAttr("saturate", 1) != 0));
}

void convertDequantizeLinear(NodeBuilder &b) {
  Value x = b.input(0), scale = b.input(1), zero = b.optionalInput(2);
  Type to = b.dtypeAttr("output_dtype", b.elementType(scale));
  Type wide = b.bitWidth(to) < 32 ? b.f32Type() : to;
  Value y = b.cast(x, wide);
  if (zero)
    y = b.sub(y, spread(b, b.cast(zero, wide), x));
  b.result(b.cast(b.mul(y, spread(b, b.cast(scale, wide), x)), to));
}

// https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
void convertDynamicQuantizeLinear(NodeBuilder &b) {
  Value x = b.input(0);
  Type u8 = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  Value most = b.max(b.reduce(x, ir::ReduceKind::Max, all, /*keepDims=*/false), 0.0);
  Value least = b.min(b.reduce(x, ir::ReduceKind::Min, all, /*keepDims=*/false), 0.0);
  Value scale = b.div(b.sub(most, least), 255.0);
  Value zero = b.unary<ir::RoundOp>(b.min(b.max(b.div(b.unary<ir::NegOp>(least), scale), 0.0), 255.0));
  b.result(0, b.cast(b.add(b.unary<ir::RoundOp>(b.div(x, scale)), zero), u8));
  b.result(1, scale);
  b.result(2, b.cast(zero, u8));
}

} // namespace tcc::onnx
