// https://onnx.ai/onnx/operators/onnx__TopK.html
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static void topK(NodeBuilder &b, AffineExpr k) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -1), b.rank(x));
  std::optional<int64_t> n = b.constantExtent(x, axis), count = ir::getConstant(k);
  if (n && count)
    b.check(*count >= 0 && *count <= *n, "k is " + Twine(*count) + " for an axis of extent " + Twine(*n));
  Exprs target = b.extents(x);
  target[axis] = k;
  Values results = b.create("tcc.top_k", x, {b.i64("axis", axis), b.flag("largest", b.intAttr("largest", 1) != 0)},
                            {b.tensorType(target, b.elementType(x)), b.tensorType(target, b.i64Type())});
  for (size_t i = 0; i < std::min<size_t>(2, b.numOutputs()); ++i)
    b.result(i, results[i]);
}

void convertTopKAttribute(NodeBuilder &b) { topK(b, b.expr(b.requiredInt("k"))); }

void convertTopK(NodeBuilder &b) {
  if (std::optional<Exprs> k = b.knownInput(1)) {
    b.check(k->size() == 1, "k must have one element");
    topK(b, k->front());
    return;
  }
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -1), b.rank(x));
  Exprs target = b.extents(x);
  target[axis] = b.freshExtent("k");
  Values results = b.library("dynamic_top_k", {x, b.input(1)},
                             {b.i64("axis", axis), b.flag("largest", b.intAttr("largest", 1) != 0)},
                             {b.tensorType(target, b.elementType(x)), b.tensorType(target, b.i64Type())});
  for (size_t i = 0; i < std::min<size_t>(2, b.numOutputs()); ++i)
    b.result(i, results[i]);
}

} // namespace tcc::onnx
