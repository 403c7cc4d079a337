// https://onnx.ai/onnx/operators/onnx__BatchNormalization.html: a scale and a shift per channel.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

static void normalize(NodeBuilder &b, Value mean, Value variance) {
  Value x = b.input(0), scale = b.input(1), bias = b.input(2);
  b.check(b.rank(x) >= 2, "needs an input of rank 2 or more");
  Type wide = b.elementType(mean);
  Value deviation = b.unary<ir::SqrtOp>(b.add(variance, b.floatAttr("epsilon", 1e-5f)));
  Value factor = b.div(b.cast(scale, wide), deviation);
  Value shift = b.sub(b.cast(bias, wide), b.mul(mean, factor));
  Value y = b.add(b.mul(b.cast(x, wide), perChannel(b, factor, b.rank(x))), perChannel(b, shift, b.rank(x)));
  b.result(0, b.cast(y, b.elementType(x)));
}

void convertBatchNormalization(NodeBuilder &b) {
  b.check(b.intAttr("spatial", 1) == 1, "attribute 'spatial' = 0 is not supported");
  if (b.intAttr("training_mode", 0) == 0) {
    for (size_t i = 1; i < b.numOutputs(); ++i)
      b.check(!b.wants(i), "training outputs are not supported before op set 14");
    // A scale and a shift made of half floats would be rounded at each step.
    auto wide = [&](Value v) { return b.bitWidth(b.elementType(v)) < 32 ? b.cast(v, b.f32Type()) : v; };
    normalize(b, wide(b.input(3)), wide(b.input(4)));
    return;
  }
  Value x = b.cast(b.input(0), b.elementType(b.input(3)));
  Ints axes{0};
  for (int64_t i = 2; i < b.rank(x); ++i)
    axes.push_back(i);
  Value mean = b.reduce(x, ir::ReduceKind::Mean, axes, /*keepDims=*/true);
  Value centred = b.sub(x, mean);
  Value variance = b.reduce(b.mul(centred, centred), ir::ReduceKind::Mean, axes, /*keepDims=*/false);
  mean = b.squeeze(mean, axes);
  normalize(b, mean, variance);
  double momentum = b.floatAttr("momentum", 0.9f);
  auto running = [&](Value old, Value now) { return b.add(b.mul(old, momentum), b.mul(now, 1 - momentum)); };
  if (b.wants(1))
    b.result(1, running(b.input(3), mean));
  if (b.wants(2))
    b.result(2, running(b.input(4), variance));
}

} // namespace tcc::onnx
