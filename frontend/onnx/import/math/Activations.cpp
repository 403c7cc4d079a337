// Activation functions, written out in tcc ops: fusion makes one kernel of them.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value isNegative(NodeBuilder &b, Value x) { return b.compare(x, b.like(x, 0), ir::Predicate::Lt); }
static Value isPositive(NodeBuilder &b, Value x) { return b.compare(x, b.like(x, 0), ir::Predicate::Gt); }

void convertRelu(NodeBuilder &b) { b.result(b.max(b.input(0), 0.0)); }

void convertLeakyRelu(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.select(isNegative(b, x), b.mul(x, b.floatAttr("alpha", 0.01f)), x));
}

// Before op set 7 the slope of rank 1 belongs to axis 1.
void convertPReluLegacy(NodeBuilder &b) {
  Value x = b.input(0), slope = b.input(1);
  if (b.rank(slope) == 1 && b.rank(x) > 2) {
    Exprs extents(b.rank(x) - 1, b.expr(1));
    extents[0] = b.extent(slope, 0);
    slope = b.reshape(slope, extents);
  }
  b.result(b.select(isNegative(b, x), b.mul(x, slope), x));
}

void convertPRelu(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.select(isNegative(b, x), b.mul(x, b.input(1)), x));
}

void convertElu(NodeBuilder &b) {
  Value x = b.input(0);
  Value negative = b.mul(b.unary<ir::Expm1Op>(x), b.floatAttr("alpha", 1));
  b.result(b.select(isNegative(b, x), negative, x));
}

void convertCelu(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttr("alpha", 1);
  Value negative = b.mul(b.unary<ir::Expm1Op>(b.div(x, alpha)), alpha);
  b.result(b.add(b.max(x, 0.0), b.min(negative, 0.0)));
}

void convertSelu(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttr("alpha", b.version < 6 ? 1.6732f : 1.67326319217681884765625f);
  double gamma = b.floatAttr("gamma", b.version < 6 ? 1.0507f : 1.05070102214813232421875f);
  Value negative = b.mul(b.unary<ir::Expm1Op>(x), alpha);
  b.result(b.mul(b.select(isPositive(b, x), x, negative), gamma));
}

void convertThresholdedRelu(NodeBuilder &b) {
  Value x = b.input(0);
  Value above = b.compare(x, b.like(x, b.floatAttr("alpha", 1)), ir::Predicate::Gt);
  b.result(b.select(above, x, b.like(x, 0)));
}

static Value hardSigmoid(NodeBuilder &b, Value x, double alpha, double beta) {
  return b.min(b.max(b.add(b.mul(x, alpha), beta), 0.0), 1.0);
}

void convertHardSigmoid(NodeBuilder &b) {
  b.result(hardSigmoid(b, b.input(0), b.floatAttr("alpha", 0.2f), b.floatAttr("beta", 0.5)));
}

void convertHardSwish(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.mul(x, hardSigmoid(b, x, 1.0 / 6.0, 0.5)));
}

// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
static Value softplus(NodeBuilder &b, Value x) {
  Value tail = b.unary<ir::Log1pOp>(b.unary<ir::ExpOp>(b.unary<ir::NegOp>(b.unary<ir::AbsOp>(x))));
  return b.add(b.max(x, 0.0), tail);
}

void convertSoftplus(NodeBuilder &b) { b.result(softplus(b, b.input(0))); }

void convertMish(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.mul(x, b.unary<ir::TanhOp>(softplus(b, x))));
}

void convertSoftsign(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.div(x, b.add(b.unary<ir::AbsOp>(x), 1.0)));
}

void convertSwish(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttr("alpha", 1);
  Value scaled = alpha == 1 ? x : b.mul(x, alpha);
  b.result(b.mul(x, b.unary<ir::SigmoidOp>(scaled)));
}

void convertShrink(NodeBuilder &b) {
  Value x = b.input(0);
  double lambda = b.floatAttr("lambd", 0.5), bias = b.floatAttr("bias", 0);
  Value below = b.compare(x, b.like(x, -lambda), ir::Predicate::Lt);
  Value above = b.compare(x, b.like(x, lambda), ir::Predicate::Gt);
  b.result(b.select(below, b.add(x, bias), b.select(above, b.sub(x, bias), b.like(x, 0))));
}

// https://onnx.ai/onnx/operators/onnx__Gelu.html, https://arxiv.org/abs/1606.08415
void convertGelu(NodeBuilder &b) {
  Value x = b.input(0);
  std::string approximate = b.stringAttr("approximate", "none");
  Value inner;
  if (approximate == "none") {
    inner = b.unary<ir::ErfOp>(b.mul(x, 0.70710678118654752440));
  } else if (approximate == "tanh") {
    Value cubed = b.mul(b.mul(b.mul(x, x), x), 0.044715);
    inner = b.unary<ir::TanhOp>(b.mul(b.add(x, cubed), 0.79788456080286535588));
  } else {
    b.fail("attribute 'approximate' must be none or tanh, not '" + approximate + "'");
  }
  b.result(b.mul(b.mul(x, 0.5), b.add(inner, 1.0)));
}

} // namespace tcc::onnx
