// Scatter, ScatterElements, ScatterND.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static NamedAttribute scatterKind(NodeBuilder &b) {
  std::string reduction = b.stringAttr("reduction", "none");
  std::optional<ir::ScatterKind> kind = ir::symbolizeScatterKind(reduction == "none" ? "assign" : reduction);
  if (!kind)
    b.fail("attribute 'reduction' must be none, add, mul, max or min, not '" + reduction + "'");
  return b.attr("kind", ir::ScatterKindAttr::get(b.context(), *kind));
}

void convertScatterElements(NodeBuilder &b) {
  Value x = b.input(0), indices = b.input(1), updates = b.input(2);
  b.check(b.rank(x) == b.rank(indices) && b.rank(x) == b.rank(updates),
          "indices and updates must have the rank of the data");
  b.check(b.elementType(x) == b.elementType(updates), "updates must have the element type of the data");
  b.result(b.emit<ir::ScatterElementsOp>(
      {x, indices, updates}, {b.i64("axis", b.normalizeAxis(b.intAttr("axis", 0), b.rank(x))), scatterKind(b)}));
}

void convertScatterND(NodeBuilder &b) {
  b.check(b.elementType(b.input(0)) == b.elementType(b.input(2)), "updates must have the element type of the data");
  b.check(b.rank(b.input(1)) > 0, "needs indices of rank 1 or more");
  b.requireExtent(b.input(1), b.rank(b.input(1)) - 1, "the index tuple");
  b.result(b.emit<ir::ScatterNdOp>({b.input(0), b.input(1), b.input(2)}, scatterKind(b)));
}

} // namespace tcc::onnx
