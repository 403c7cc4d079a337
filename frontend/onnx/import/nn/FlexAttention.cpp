// ai.onnx.preview FlexAttention: attention whose scores and probabilities pass through subgraphs.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/GraphImporter.h"

#include <cmath>

using namespace mlir;

namespace tcc::onnx {

static Value repeatForQueries(NodeBuilder &b, Value x, Value q) {
  Exprs e = b.extents(x);
  AffineExpr times = b.divideProducts({b.extent(q, 1)}, {e[1]});
  if (ir::getConstant(times) == 1)
    return x;
  return b.reshape(b.broadcastTo(b.unsqueeze(x, {2}), {e[0], e[1], times, e[2], e[3]}),
                   {e[0], b.extent(q, 1), e[2], e[3]});
}

static Value modified(NodeBuilder &b, StringRef attribute, Value x) {
  if (!b.hasAttr(attribute))
    return x;
  std::vector<Item> results = b.graph.importSubgraph(b.graphAttr(attribute), b.builder, {Item(x)}, b);
  b.check(results.size() == 1 && results[0].kind == Item::Kind::Tensor,
          "graph '" + attribute + "' must return one tensor");
  return b.cast(results[0].tensor, b.elementType(x));
}

void convertFlexAttention(NodeBuilder &b) {
  Value q = b.input(0), k = b.input(1), v = b.input(2);
  b.check(b.rank(q) == 4 && b.rank(k) == 4 && b.rank(v) == 4, "needs operands of rank 4");
  Type type = b.elementType(q), wide = b.dtypeAttr("softmax_precision", b.bitWidth(type) < 32 ? b.f32Type() : type);
  double scale =
      b.hasAttr("scale") ? b.floatAttr("scale", 1) : 1 / std::sqrt(double(b.requireExtent(q, 3, "the scale")));
  Value factor = b.scalar(type, std::sqrt(scale));
  Value scores = b.matmul(b.mul(q, factor), b.transposeLast(b.mul(repeatForQueries(b, k, q), factor)));
  scores = modified(b, "score_mod", b.cast(scores, wide));
  Value weights = modified(b, "prob_mod", b.softmax(scores, 3));
  b.result(b.cast(b.matmul(weights, b.cast(repeatForQueries(b, v, q), wide)), b.elementType(v)));
}

} // namespace tcc::onnx
