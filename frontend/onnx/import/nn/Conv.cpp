// https://onnx.ai/onnx/operators/onnx__Conv.html and ConvInteger.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

static Value convolve(NodeBuilder &b, Value x, Value w, Value fill = {}) {
  b.check(b.rank(w) == b.rank(x), "the weights must have the rank of the input");
  b.check(b.elementType(w) == b.elementType(x), "input and weights have different element types");
  Ints kernel;
  for (int64_t i = 2; i < b.rank(w); ++i)
    kernel.push_back(b.requireExtent(w, i, "the kernel"));
  if (std::optional<Ints> stated = b.intsAttr("kernel_shape"))
    b.check(*stated == kernel, "attribute 'kernel_shape' disagrees with the weights");
  Window window = readWindow(b, x, kernel, fill);
  int64_t groups = b.sizeAttr("group", 1);
  b.check(groups > 0, "attribute 'group' must be positive");
  std::optional<int64_t> channels = b.constantExtent(x, 1), perGroup = b.constantExtent(w, 1),
                         out = b.constantExtent(w, 0);
  if (channels && perGroup)
    b.check(*channels == *perGroup * groups,
            "the input has " + Twine(*channels) + " channels, the weights want " + Twine(*perGroup * groups));
  if (out)
    b.check(*out % groups == 0, "the output channels are no multiple of attribute 'group'");
  SmallVector<NamedAttribute> attrs = windowAttrs(b, window, /*withKernel=*/false);
  attrs.push_back(b.i64("groups", groups));
  return b.emit<ir::ConvOp>({window.x, w}, attrs);
}

void convertConv(NodeBuilder &b) {
  Value y = convolve(b, b.input(0), b.input(1));
  if (Value bias = b.optionalInput(2))
    y = addBias(b, y, bias);
  b.result(y);
}

// x - x_zero_point and w - w_zero_point as int32, padding with (what is then) zero.
void convertConvInteger(NodeBuilder &b) {
  Type i32 = b.builder.getI32Type();
  Value x = b.cast(b.input(0), i32), w = b.cast(b.input(1), i32);
  if (Value zero = b.optionalInput(2))
    x = b.sub(x, b.cast(b.rank(zero) == 1 ? b.reshape(zero, ArrayRef<int64_t>{}) : zero, i32));
  if (Value zero = b.optionalInput(3)) {
    zero = b.cast(zero, i32);
    // One zero point for all, or one an output channel.
    if (b.rank(zero) == 1)
      zero = b.constantExtent(zero, 0) == 1 ? b.reshape(zero, ArrayRef<int64_t>{}) : perChannel(b, zero, b.rank(w) + 1);
    w = b.sub(w, zero);
  }
  b.result(convolve(b, x, w));
}

// Convolution of the dequantised values, requantised: https://onnx.ai/onnx/operators/onnx__QLinearConv.html
void convertQLinearConv(NodeBuilder &b) {
  Type i32 = b.builder.getI32Type(), f32 = b.f32Type();
  auto scalarOf = [&](Value v) {
    return b.rank(v) == 1 && b.constantExtent(v, 0) == 1 ? b.reshape(v, ArrayRef<int64_t>{}) : v;
  };
  Value x = b.sub(b.cast(b.input(0), i32), b.cast(scalarOf(b.input(2)), i32));
  Value w = b.cast(b.input(3), i32), wZero = b.cast(scalarOf(b.input(5)), i32), wScale = scalarOf(b.input(4));
  if (b.rank(wZero) == 1)
    wZero = perChannel(b, wZero, b.rank(w) + 1);
  Value sum = convolve(b, x, b.sub(w, wZero));
  if (Value bias = b.optionalInput(8))
    sum = addBias(b, sum, bias);
  if (b.rank(wScale) == 1)
    wScale = perChannel(b, wScale, b.rank(sum));
  Value scale = b.div(b.mul(b.cast(scalarOf(b.input(1)), f32), b.cast(wScale, f32)), b.cast(scalarOf(b.input(6)), f32));
  Value zero = scalarOf(b.input(7));
  Value y = b.add(b.unary<ir::RoundOp>(b.mul(b.cast(sum, f32), scale)), b.cast(zero, f32));
  b.result(b.cast(y, b.elementType(zero)));
}

} // namespace tcc::onnx
