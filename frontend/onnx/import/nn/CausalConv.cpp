// https://onnx.ai/onnx/operators/onnx__CausalConvWithState.html: a depthwise convolution over the past and the input.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

void convertCausalConvWithState(NodeBuilder &b) {
  Value x = b.input(0), w = b.input(1);
  b.check(b.rank(x) == 3 && b.rank(w) == 3, "needs an input and weights of rank 3");
  int64_t past = b.requireExtent(w, 2, "the kernel") - 1, channels = b.requireExtent(w, 0, "the channels");
  Value padded;
  if (Value state = b.optionalInput(3))
    padded = b.concat({state, x}, 2);
  else
    padded = b.pad(x, {}, b.exprs({0, 0, past}), b.exprs({0, 0, 0}));
  Value y =
      b.emit<ir::ConvOp>({padded, w}, {b.i64s("strides", {1}), b.i64s("padding_low", {0}), b.i64s("padding_high", {0}),
                                       b.i64s("dilations", {1}), b.i64("groups", channels)});
  if (Value bias = b.optionalInput(2))
    y = addBias(b, y, bias);
  std::string activation = b.stringAttr("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = b.mul(y, b.unary<ir::SigmoidOp>(y));
  else
    b.check(activation == "none", "attribute 'activation' must be none, silu or swish, not '" + activation + "'");
  b.result(0, y);
  if (b.wants(1))
    b.result(1, b.sliceAxis(padded, 2, b.extent(padded, 2) - past, b.expr(past)));
}

} // namespace tcc::onnx
