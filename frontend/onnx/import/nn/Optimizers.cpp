// ai.onnx.preview.training: Adagrad, Adam, Momentum. Inputs are rate, step, then groups of tensors: X1.. Xn, G1.. Gn,
// state.
#include "frontend/onnx/import/Conversions.h"

#include <cmath>

using namespace mlir;

namespace tcc::onnx {

// How many tensors are updated, given how many groups of inputs there are.
static size_t tensorsPerGroup(NodeBuilder &b, size_t groups) {
  b.check(b.numInputs() > 2 && (b.numInputs() - 2) % groups == 0, "has an unexpected number of inputs");
  return (b.numInputs() - 2) / groups;
}

static Value regularised(NodeBuilder &b, Value x, Value gradient) {
  double norm = b.floatAttr("norm_coefficient", 0);
  return norm == 0 ? gradient : b.add(b.mul(x, norm), gradient);
}

void convertAdagrad(NodeBuilder &b) {
  size_t n = tensorsPerGroup(b, 3);
  Value rate = b.input(0), step = b.cast(b.input(1), b.elementType(b.input(0)));
  Value decayed = b.div(rate, b.add(b.mul(step, b.floatAttr("decay_factor", 0)), 1.0));
  for (size_t i = 0; i < n; ++i) {
    Value x = b.input(2 + i), g = regularised(b, x, b.input(2 + n + i));
    Value h = b.add(b.input(2 + 2 * n + i), b.mul(g, g));
    Value adapted = b.add(b.unary<ir::SqrtOp>(h), b.floatAttr("epsilon", 1e-6f));
    b.result(i, b.sub(x, b.div(b.mul(decayed, g), adapted)));
    b.result(n + i, h);
  }
}

void convertAdam(NodeBuilder &b) {
  size_t n = tensorsPerGroup(b, 4);
  double alpha = b.floatAttr("alpha", 0.9f), beta = b.floatAttr("beta", 0.999f),
         epsilon = b.floatAttr("epsilon", 1e-6f);
  Value rate = b.input(0), step = b.cast(b.reshape(b.input(1), ArrayRef<int64_t>{}), b.elementType(rate));
  // The correction for the moments' start at zero begins with step 1.
  Value one = b.like(step, 1), started = b.compare(step, b.like(step, 0), ir::Predicate::Gt);
  Value corrected = b.div(b.mul(rate, b.unary<ir::SqrtOp>(b.sub(one, b.pow(b.like(step, beta), step)))),
                          b.sub(one, b.pow(b.like(step, alpha), step)));
  Value adjusted = b.select(started, corrected, rate);
  double post = b.floatAttr("norm_coefficient_post", 0);
  for (size_t i = 0; i < n; ++i) {
    Value x = b.input(2 + i), g = regularised(b, x, b.input(2 + n + i));
    Value v = b.add(b.mul(b.input(2 + 2 * n + i), alpha), b.mul(g, 1 - alpha));
    Value h = b.add(b.mul(b.input(2 + 3 * n + i), beta), b.mul(b.mul(g, g), 1 - beta));
    Value moved = b.sub(x, b.div(b.mul(adjusted, v), b.add(b.unary<ir::SqrtOp>(h), epsilon)));
    b.result(i, post == 0 ? moved : b.mul(moved, 1 - post));
    b.result(n + i, v);
    b.result(2 * n + i, h);
  }
}

void convertMomentum(NodeBuilder &b) {
  size_t n = tensorsPerGroup(b, 3);
  std::string mode = b.stringAttr("mode", "");
  b.check(mode == "standard" || mode == "nesterov",
          "attribute 'mode' must be standard or nesterov, not '" + mode + "'");
  double alpha = b.floatAttr("alpha", 0);
  Value rate = b.input(0), step = b.reshape(b.input(1), ArrayRef<int64_t>{});
  Value first = b.compare(step, b.like(step, 0), ir::Predicate::Eq);
  Value beta = b.select(first, b.scalar(b.elementType(rate), 1), b.scalar(b.elementType(rate), b.floatAttr("beta", 0)));
  for (size_t i = 0; i < n; ++i) {
    Value x = b.input(2 + i), g = regularised(b, x, b.input(2 + n + i));
    Value v = b.add(b.mul(b.input(2 + 2 * n + i), alpha), b.mul(g, beta));
    Value direction = mode == "standard" ? v : b.add(g, b.mul(v, alpha));
    b.result(i, b.sub(x, b.mul(rate, direction)));
    b.result(n + i, v);
  }
}

} // namespace tcc::onnx
