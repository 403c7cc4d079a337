// https://onnx.ai/onnx/operators/onnx__Split.html: sizes by attribute, by input, or equal parts (the last one smaller).
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertSplit(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x));
  size_t parts = b.numOutputs();
  b.check(parts > 0, "has no outputs");
  Exprs sizes;
  if (b.has(1)) {
    sizes = b.requireKnown(1, "the sizes");
  } else if (std::optional<Ints> given = b.intsAttr("split")) {
    sizes = b.exprs(*given);
  } else {
    if (b.hasAttr("num_outputs"))
      b.check(b.sizeAttr("num_outputs", 0) == static_cast<int64_t>(parts), "num_outputs is not the number of outputs");
    AffineExpr extent = b.extent(x, axis), size = ir::simplifyExtent(extent.ceilDiv(parts));
    sizes.assign(parts - 1, size);
    sizes.push_back(ir::simplifyExtent(extent - size * static_cast<int64_t>(parts - 1)));
  }
  b.check(sizes.size() == parts, Twine(sizes.size()) + " sizes for " + Twine(parts) + " outputs");
  AffineExpr start = b.expr(0);
  for (size_t i = 0; i < parts; ++i) {
    b.check(b.range(sizes[i]).second >= 0, "size " + Twine(i) + " is negative");
    b.result(i, b.sliceAxis(x, axis, start, sizes[i]));
    start = ir::simplifyExtent(start + sizes[i]);
  }
  std::optional<int64_t> end = ir::getConstant(start), extent = b.constantExtent(x, axis);
  b.check(!end || !extent || *end == *extent, "the sizes do not add up to the extent of axis " + Twine(axis));
}

} // namespace tcc::onnx
