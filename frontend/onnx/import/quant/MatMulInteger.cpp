// MatMulInteger and QLinearMatMul: products of integers in int32.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

// One parameter for all, per row of the left operand, or per column of the right one.
static Value parameter(NodeBuilder &b, Value p, bool rows) {
  if (b.rank(p) == 0 || (b.rank(p) == 1 && b.constantExtent(p, 0) == 1))
    return b.reshape(p, ArrayRef<int64_t>{});
  return b.rank(p) == 1 && rows ? b.unsqueeze(p, {1}) : p;
}

static Value centred(NodeBuilder &b, Value x, Value zero, bool rows) {
  Type i32 = b.builder.getI32Type();
  x = b.cast(x, i32);
  return zero ? b.sub(x, b.cast(parameter(b, zero, rows), i32)) : x;
}

void convertMatMulInteger(NodeBuilder &b) {
  b.result(b.matmul(centred(b, b.input(0), b.optionalInput(2), /*rows=*/true),
                    centred(b, b.input(1), b.optionalInput(3), /*rows=*/false)));
}

void convertQLinearMatMul(NodeBuilder &b) {
  Type f32 = b.f32Type();
  Value sum =
      b.matmul(centred(b, b.input(0), b.input(2), /*rows=*/true), centred(b, b.input(3), b.input(5), /*rows=*/false));
  auto scale = [&](size_t i, bool rows) { return b.cast(parameter(b, b.input(i), rows), f32); };
  Value y = b.mul(b.mul(b.cast(sum, f32), scale(1, true)), scale(4, false));
  y = b.unary<ir::RoundOp>(b.div(y, scale(6, true)));
  y = b.add(y, b.cast(parameter(b, b.input(7), true), f32));
  b.result(b.cast(y, b.elementType(b.input(7))));
}

} // namespace tcc::onnx
