// https://onnx.ai/onnx/operators/onnx__Dropout.html: inference is the identity and a mask of ones. Training keeps an
// element with probability 1 - ratio and divides it by that.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertDropout(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(0, x);
  Value training = b.optionalInput(2); // since op set 12; before, and without it: inference
  if (training)
    training = b.reshape(training, ArrayRef<int64_t>{});
  std::optional<Ints> known = training ? b.constantInts(training) : Ints{0};
  if (known && known->front() == 0) {
    if (b.wants(1))
      b.result(1, b.full(b.extents(x), b.scalarInt(b.version < 10 ? b.elementType(x) : b.i1Type(), 1)));
    return;
  }
  Value ratio = b.has(1) ? b.reshape(b.cast(b.input(1), b.f32Type()), ArrayRef<int64_t>{}) : b.scalar(b.f32Type(), 0.5);
  RankedTensorType drawn = b.tensorType(b.extents(x), b.f32Type());
  Value draws = b.libraryOne("random_uniform", {b.full(b.extents(x), b.scalar(b.f32Type(), 0))},
                             {b.f64("seed", b.intAttr("seed", 0)), b.f64("low", 0), b.f64("high", 1)}, drawn);
  Value kept = b.compare(draws, ratio, ir::Predicate::Ge);
  Value scale = b.cast(b.div(b.scalar(b.f32Type(), 1), b.sub(b.scalar(b.f32Type(), 1), ratio)), b.elementType(x));
  Value y = b.select(kept, b.mul(x, scale), b.like(x, 0));
  if (!known) {
    y = b.select(training, y, x);
    kept = b.select(training, kept, b.scalarInt(b.i1Type(), 1));
  }
  b.result(0, y);
  if (b.wants(1))
    b.result(1, kept);
}

} // namespace tcc::onnx
