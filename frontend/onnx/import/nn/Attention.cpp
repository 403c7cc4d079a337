// https://onnx.ai/onnx/operators/onnx__Attention.html: becomes tcc.attention; written out where the scores themselves
// are asked for or capped.
#include "frontend/onnx/import/Conversions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tcc::onnx {

namespace {
/// What keeps queries from keys: `allowed` (bool) and `bias` (added), both of extents that broadcast to [B, H, S, T].
struct Mask {
  Value allowed, bias;

  void restrict(NodeBuilder &b, Value more) {
    allowed = allowed ? b.binary("tcc.and", allowed, b.padRank(more, 4)) : b.padRank(more, 4);
  }
  /// Both as one float tensor.
  Value asBias(NodeBuilder &b, Type type) const {
    if (!allowed)
      return bias;
    Value excluded = b.scalar(type, -std::numeric_limits<double>::infinity());
    return b.select(allowed, bias ? bias : b.scalar(type, 0), excluded);
  }
};
} // namespace

// [B, S, H * D] to [B, H, S, D].
static Value splitHeads(NodeBuilder &b, Value x, int64_t heads) {
  if (b.rank(x) == 4)
    return x;
  b.check(b.rank(x) == 3 && heads > 0, "needs operands of rank 4, or of rank 3 and the numbers of heads");
  Exprs e = b.extents(x);
  Value split = b.reshape(x, {e[0], e[1], b.expr(heads), b.divideProducts({e[2]}, {b.expr(heads)})});
  return b.transpose(split, {0, 2, 1, 3});
}

static Value mergeHeads(NodeBuilder &b, Value x) {
  Exprs e = b.extents(x);
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {e[0], e[2], ir::simplifyExtent(e[1] * e[3])});
}

// Each key head serves several query heads.
static Value repeatHeads(NodeBuilder &b, Value x, Value q) {
  Exprs e = b.extents(x);
  AffineExpr times = b.divideProducts({b.extent(q, 1)}, {e[1]});
  if (ir::getConstant(times) == 1)
    return x;
  Value spread = b.broadcastTo(b.unsqueeze(x, {2}), {e[0], e[1], times, e[2], e[3]});
  return b.reshape(spread, {e[0], b.extent(q, 1), e[2], e[3]});
}

/// `type`: of the scores, which a mask of integers is added to.
static Mask readMask(NodeBuilder &b, AffineExpr keys, Type type) {
  Mask mask;
  Value given = b.optionalInput(3);
  if (!given)
    return mask;
  if (!b.isBool(given) && !b.isFloat(given))
    given = b.cast(given, type);
  b.check(b.rank(given) >= 1 && b.rank(given) <= 4, "the mask must have a rank of 1 to 4");
  AffineExpr last = b.extents(given).back();
  // A shorter mask excludes the keys it does not reach.
  if (last != keys && ir::getConstant(last) != 1) {
    Exprs low(b.rank(given), b.expr(0)), high = low;
    high.back() = ir::simplifyExtent(keys - last);
    double excluded = b.isBool(given) ? 0 : -std::numeric_limits<double>::infinity();
    given = b.pad(given, b.scalar(b.elementType(given), excluded), low, high);
  }
  given = b.padRank(given, 4);
  (b.isBool(given) ? mask.allowed : mask.bias) = given;
  return mask;
}

void convertAttention(NodeBuilder &b) {
  bool merged = b.rank(b.input(0)) == 3;
  Value q = splitHeads(b, b.input(0), b.sizeAttr("q_num_heads", 0));
  Value k = splitHeads(b, b.input(1), b.sizeAttr("kv_num_heads", 0));
  Value v = splitHeads(b, b.input(2), b.sizeAttr("kv_num_heads", 0));
  Type type = b.elementType(q), i64 = b.i64Type();
  AffineExpr past = b.expr(0);
  if (Value pastKey = b.optionalInput(4)) {
    past = b.extent(pastKey, 2);
    k = b.concat({pastKey, k}, 2);
    v = b.concat({b.input(5), v}, 2);
  }
  AffineExpr queries = b.extent(q, 2), keys = b.extent(k, 2);
  Mask mask = readMask(b, keys, type);

  // Key positions and the absolute positions of the queries.
  Value lengths = b.optionalInput(6);
  Exprs plane{b.expr(1), b.expr(1), queries, keys};
  auto keyIndex = [&] { return b.iota(plane, 3, i64); };
  auto queryIndex = [&] {
    Value offset = b.extentsTensor(past, /*scalar=*/true);
    if (lengths && !b.has(4)) {
      Value perBatch = b.reshape(b.cast(lengths, i64), {b.extent(lengths, 0), b.expr(1), b.expr(1), b.expr(1)});
      offset = b.sub(perBatch, b.extentsTensor(queries, /*scalar=*/true));
    }
    return b.add(b.iota(plane, 2, i64), offset);
  };
  bool causal = b.intAttr("is_causal", 0) != 0;
  int64_t left = b.intAttr("left_window_size", -1), right = b.intAttr("right_window_size", -1);
  // tcc.attention aligns the last query with the last key.
  bool aligned = causal && !lengths && ir::simplifyExtent(keys - queries - past) == b.expr(0);
  if (causal && !aligned)
    mask.restrict(b, b.compare(keyIndex(), queryIndex(), ir::Predicate::Le));
  if (left >= 0)
    mask.restrict(b, b.compare(b.sub(queryIndex(), keyIndex()), b.scalarInt(i64, left), ir::Predicate::Le));
  if (right >= 0)
    mask.restrict(b, b.compare(b.sub(keyIndex(), queryIndex()), b.scalarInt(i64, right), ir::Predicate::Le));
  if (lengths) {
    Value perBatch = b.reshape(b.cast(lengths, i64), {b.extent(lengths, 0), b.expr(1), b.expr(1), b.expr(1)});
    Exprs row{b.expr(1), b.expr(1), b.expr(1), keys};
    mask.restrict(b, b.compare(b.iota(row, 3, i64), perBatch, ir::Predicate::Lt));
  }

  double scale =
      b.hasAttr("scale") ? b.floatAttr("scale", 1) : 1 / std::sqrt(double(b.requireExtent(q, 3, "the scale")));
  double softcap = b.floatAttr("softcap", 0);
  Value y;
  if (softcap == 0 && !b.wants(3)) {
    Values operands{q, k, v};
    if (mask.allowed && !mask.bias)
      operands.push_back(mask.allowed);
    else if (Value bias = mask.asBias(b, type))
      operands.push_back(bias);
    y = b.emit<ir::AttentionOp>(operands, {b.f64("scale", scale), b.flag("causal", aligned)});
  } else {
    if (aligned)
      mask.restrict(b, b.compare(keyIndex(), queryIndex(), ir::Predicate::Le));
    Value factor = b.scalar(type, std::sqrt(scale));
    Value scores = b.matmul(b.mul(q, factor), b.transposeLast(b.mul(repeatHeads(b, k, q), factor)));
    int64_t mode = b.intAttr("qk_matmul_output_mode", 0);
    Value exposed = scores;
    if (softcap != 0)
      scores = b.mul(b.unary<ir::TanhOp>(b.div(scores, softcap)), softcap);
    if (mode == 1)
      exposed = scores;
    Value bias = mask.asBias(b, type);
    if (bias)
      scores = b.add(scores, bias);
    if (mode == 2)
      exposed = scores;
    Value weights = b.cast(b.softmax(b.cast(scores, b.dtypeAttr("softmax_precision", type)), 3), type);
    if (bias) {
      // A query that may see no key gets nothing, not NaN.
      Value most = b.reduce(bias, ir::ReduceKind::Max, {3}, /*keepDims=*/true);
      Value none = b.compare(most, b.scalar(type, -std::numeric_limits<double>::infinity()), ir::Predicate::Eq);
      weights = b.select(none, b.scalar(type, 0), weights);
    }
    if (mode == 3)
      exposed = weights;
    y = b.matmul(weights, repeatHeads(b, v, q));
    if (b.wants(3))
      b.result(3, exposed);
  }
  b.result(0, merged ? mergeHeads(b, y) : y);
  if (b.wants(1))
    b.result(1, k);
  if (b.wants(2))
    b.result(2, v);
}

} // namespace tcc::onnx
