// https://onnx.ai/onnx/operators/onnx__Range.html: ceil((limit - start) / delta) elements, at least 0.
#include "frontend/onnx/import/Conversions.h"

#include <cmath>

using namespace mlir;

namespace tcc::onnx {

void convertRange(NodeBuilder &b) {
  Value start = b.input(0), limit = b.input(1), delta = b.input(2);
  Type type = b.elementType(start);
  for (Value v : {start, limit, delta})
    b.check(b.rank(v) == 0 || b.constantExtent(v, 0) == 1, "needs scalars");
  start = b.reshape(start, ArrayRef<int64_t>{});
  limit = b.reshape(limit, ArrayRef<int64_t>{});
  delta = b.reshape(delta, ArrayRef<int64_t>{});
  std::optional<AffineExpr> count;
  if (b.isFloat(start)) {
    auto s = b.constantFloats(start), l = b.constantFloats(limit), d = b.constantFloats(delta);
    if (s && l && d) {
      b.check(d->front() != 0, "delta is 0");
      double n = std::ceil((l->front() - s->front()) / d->front());
      b.check(n < 1e15, "too many elements");
      count = b.expr(std::max<int64_t>(0, static_cast<int64_t>(n)));
    }
  } else if (auto s = b.knownInts(start), l = b.knownInts(limit), d = b.knownInts(delta); s && l && d) {
    std::optional<int64_t> step = ir::getConstant(d->front());
    if (step) {
      b.check(*step != 0, "delta is 0");
      AffineExpr span = l->front() - s->front();
      AffineExpr n = *step > 0 ? span.ceilDiv(*step) : (s->front() - l->front()).ceilDiv(-*step);
      n = ir::simplifyExtent(n);
      if (std::optional<int64_t> c = ir::getConstant(n))
        n = b.expr(std::max<int64_t>(0, *c));
      // A symbolic count stands only where it cannot be negative.
      if (b.range(n).first >= 0)
        count = n;
    }
  }
  if (!count) {
    RankedTensorType dynamic = b.tensorType({b.freshExtent("range")}, type);
    b.result(b.libraryOne("range", {start, limit, delta}, {}, dynamic));
    return;
  }
  // In the type of the result, as ONNX defines it: start + i * delta.
  Value i = b.iota({*count}, 0, type);
  b.result(b.add(b.mul(i, delta), start));
}

} // namespace tcc::onnx
