// https://onnx.ai/onnx/operators/onnx__LinearAttention.html: a recurrence over time on a state of [B, H, Dk, Dv].
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/control/LoopBody.h"

#include <cmath>

using namespace mlir;

namespace tcc::onnx {

// [B, T, H * D] to [T, B, H, D] in float32: time first, to be taken apart by the loop.
static Value timeFirst(NodeBuilder &b, Value x, int64_t heads) {
  b.check(b.rank(x) == 3 && heads > 0, "needs operands of rank 3 and the numbers of heads");
  Exprs e = b.extents(x);
  Value split = b.reshape(x, {e[0], e[1], b.expr(heads), b.divideProducts({e[2]}, {b.expr(heads)})});
  return b.cast(b.transpose(split, {1, 0, 2, 3}), b.f32Type());
}

void convertLinearAttention(NodeBuilder &b) {
  int64_t qHeads = b.requiredInt("q_num_heads"), heads = b.requiredInt("kv_num_heads");
  b.check(qHeads > 0 && heads > 0 && qHeads % heads == 0, "q_num_heads must be a multiple of kv_num_heads");
  std::string rule = b.stringAttr("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  b.check(gated || delta || rule == "linear", "attribute 'update_rule' is '" + rule + "'");
  b.check(gated == b.has(4) && delta == b.has(5), "update_rule '" + rule + "' does not fit the decay and beta inputs");
  Value q = timeFirst(b, b.input(0), qHeads), k = timeFirst(b, b.input(1), heads), v = timeFirst(b, b.input(2), heads);
  Exprs ek = b.extents(k), ev = b.extents(v), stateExtents{ek[1], ek[2], ek[3], ev[3]};
  Value decay, beta;
  if (gated) // per head, or per key dimension
    decay = timeFirst(b, b.input(4), heads);
  if (delta)
    beta = timeFirst(b, b.input(5), b.requireExtent(b.input(5), 2, "whether beta differs by head") == 1 ? 1 : heads);
  Type stateType = b.elementType(b.input(0));
  Value state;
  if (Value past = b.optionalInput(3)) {
    stateType = b.elementType(past);
    state = b.cast(past, b.f32Type());
  } else {
    state = b.full(stateExtents, b.scalar(b.f32Type(), 0));
  }
  double scale = b.floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(b.requireExtent(k, 3, "the scale")));
  Value trips = b.extentsTensor(ek[0], /*scalar=*/true);
  Values results = buildLoop(b, trips, {}, {state}, [&](OpBuilder &inner, Value t, ValueRange carried) {
    Emitter e(inner, b.loc, b.function);
    Value s = carried[0], kt = e.gather(k, t, 0), vt = e.gather(v, t, 0), qt = e.gather(q, t, 0);
    if (decay)
      s = e.mul(s, e.unsqueeze(e.unary<ir::ExpOp>(e.gather(decay, t, 0)), {3}));
    if (delta) {
      Value retrieved = e.squeeze(e.matmul(e.unsqueeze(kt, {2}), s), {2});
      vt = e.mul(e.gather(beta, t, 0), e.sub(vt, retrieved));
    }
    s = e.add(s, e.mul(e.unsqueeze(kt, {3}), e.unsqueeze(vt, {2})));
    // Query heads of a group read the same state.
    Value grouped = e.reshape(qt, {ek[1], e.expr(heads), e.expr(qHeads / heads), ek[3]});
    Value out = e.mul(e.matmul(grouped, s), scale);
    return Values{e.scalarInt(e.i1Type(), 1), s, e.reshape(out, {ek[1], e.expr(qHeads), ev[3]})};
  });
  Value y = b.transpose(results[1], {1, 0, 2, 3});
  b.result(0, b.cast(b.reshape(y, {ek[1], ek[0], ir::simplifyExtent(ev[3] * qHeads)}), b.elementType(b.input(0))));
  if (b.wants(1))
    b.result(1, b.cast(results[0], stateType));
}

} // namespace tcc::onnx
