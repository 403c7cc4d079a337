// Layer, RMS, instance, group, mean-variance and Lp normalisation, LRN.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

// Statistics are float32 or wider inside the op; scale and bias follow in the type of the input.
void convertLayerNormalization(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -1), b.rank(x));
  double epsilon = b.floatAttr("epsilon", 1e-5f);
  Value y = b.emit<ir::LayerNormOp>(x, {b.i64("axis", axis), b.f64("epsilon", epsilon)});
  y = b.mul(y, b.cast(b.input(1), b.elementType(x)));
  if (Value bias = b.optionalInput(2))
    y = b.add(y, b.cast(bias, b.elementType(x)));
  b.result(0, y);
  if (!b.wants(1) && !b.wants(2))
    return;
  Value wide = b.cast(x, b.dtypeAttr("stash_type", b.f32Type()));
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(axis, b.rank(x)));
  Value mean = b.reduce(wide, ir::ReduceKind::Mean, axes, /*keepDims=*/true);
  b.result(1, mean);
  if (b.wants(2)) {
    Value centred = b.sub(wide, mean);
    Value variance = b.reduce(b.mul(centred, centred), ir::ReduceKind::Mean, axes, /*keepDims=*/true);
    b.result(2, b.unary<ir::ReciprocalOp>(b.unary<ir::SqrtOp>(b.add(variance, epsilon))));
  }
}

void convertRMSNormalization(NodeBuilder &b) {
  Value x = b.input(0), scale = b.input(1);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -1), b.rank(x));
  Value y = b.emit<ir::RmsNormOp>(x, {b.i64("axis", axis), b.f64("epsilon", b.floatAttr("epsilon", 1e-5f))});
  b.result(b.cast(b.mul(b.cast(y, b.elementType(scale)), scale), b.elementType(scale)));
}

void convertInstanceNormalization(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 3, "needs an input of rank 3 or more");
  Value y = b.emit<ir::LayerNormOp>(x, {b.i64("axis", 2), b.f64("epsilon", b.floatAttr("epsilon", 1e-5f))});
  b.result(b.add(b.mul(y, perChannel(b, b.input(1), b.rank(x))), perChannel(b, b.input(2), b.rank(x))));
}

static Value groupNorm(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 2, "needs an input of rank 2 or more");
  int64_t groups = b.requiredInt("num_groups");
  Exprs e = b.extents(x);
  std::optional<int64_t> channels = ir::getConstant(e[1]);
  b.check(groups > 0 && (!channels || *channels % groups == 0), "the channels are no multiple of 'num_groups'");
  Value grouped = b.reshape(x, {e[0], b.expr(groups), b.divideProducts(ArrayRef(e).drop_front(1), {b.expr(groups)})});
  return b.emit<ir::LayerNormOp>(grouped, {b.i64("axis", 2), b.f64("epsilon", b.floatAttr("epsilon", 1e-5f))});
}

void convertGroupNormalization(NodeBuilder &b) {
  Value x = b.input(0), y = b.reshape(groupNorm(b), b.extents(x));
  b.result(b.add(b.mul(y, perChannel(b, b.input(1), b.rank(x))), perChannel(b, b.input(2), b.rank(x))));
}

// Op set 18 had scale and bias per group.
void convertGroupNormalizationPerGroup(NodeBuilder &b) {
  Value y = groupNorm(b);
  y = b.add(b.mul(y, perChannel(b, b.input(1), 3)), perChannel(b, b.input(2), 3));
  b.result(b.reshape(y, b.extents(b.input(0))));
}

void convertMeanVarianceNormalization(NodeBuilder &b) {
  Value x = b.input(0);
  Ints axes = b.normalizeAxes(b.intsAttr("axes").value_or(Ints{0, 2, 3}), b.rank(x));
  Value centred = b.sub(x, b.reduce(x, ir::ReduceKind::Mean, axes, /*keepDims=*/true));
  Value variance = b.reduce(b.mul(centred, centred), ir::ReduceKind::Mean, axes, /*keepDims=*/true);
  b.result(b.div(centred, b.add(b.unary<ir::SqrtOp>(variance), 1e-9)));
}

// https://onnx.ai/onnx/operators/onnx__LpNormalization.html; a vector of zeros stays zero.
void convertLpNormalization(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t p = b.intAttr("p", 2);
  b.check(p == 1 || p == 2, "attribute 'p' must be 1 or 2");
  Ints axis{b.normalizeAxis(b.intAttr("axis", -1), b.rank(x))};
  Type type = b.elementType(x);
  Value wide = b.bitWidth(type) < 32 ? b.cast(x, b.f32Type()) : x;
  Value norm = p == 1 ? b.reduce(b.unary<ir::AbsOp>(wide), ir::ReduceKind::Sum, axis, /*keepDims=*/true)
                      : b.unary<ir::SqrtOp>(b.reduce(b.mul(wide, wide), ir::ReduceKind::Sum, axis, /*keepDims=*/true));
  Value zero = b.compare(norm, b.like(norm, 0), ir::Predicate::Eq);
  b.result(b.cast(b.div(wide, b.select(zero, b.like(norm, 1), norm)), type));
}

// https://onnx.ai/onnx/operators/onnx__LRN.html: the sum of squares over a window of channels.
void convertLRN(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 2, "needs an input of rank 2 or more");
  int64_t size = b.requiredInt("size");
  b.check(size > 0 && size < 4096, "attribute 'size' must be positive");
  Exprs low(b.rank(x), b.expr(0)), high = low;
  low[1] = b.expr((size - 1) / 2);
  high[1] = b.expr(size - 1 - (size - 1) / 2);
  Value squares = b.pad(b.mul(x, x), {}, low, high), sum;
  for (int64_t i = 0; i < size; ++i) {
    Value part = b.sliceAxis(squares, 1, b.expr(i), b.extent(x, 1));
    sum = sum ? b.add(sum, part) : part;
  }
  Value base = b.add(b.mul(sum, b.floatAttr("alpha", 1e-4f) / size), b.floatAttr("bias", 1));
  b.result(b.div(x, b.pow(base, b.floatAttr("beta", 0.75))));
}

} // namespace tcc::onnx
