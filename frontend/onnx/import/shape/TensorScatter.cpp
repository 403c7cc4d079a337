// https://onnx.ai/onnx/operators/onnx__TensorScatter.html: writes a block into a cache, per batch entry at its own
// position.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertTensorScatter(NodeBuilder &b) {
  Value cache = b.input(0), update = b.input(1);
  b.check(b.rank(cache) == b.rank(update), "the update must have the rank of the cache");
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -2), b.rank(cache));
  b.check(axis > 0, "attribute 'axis' must not be the batch axis");
  Exprs e = b.extents(update);
  Value at = b.iota(e, axis, b.i64Type());
  if (Value starts = b.optionalInput(2)) {
    Exprs perBatch(b.rank(cache), b.expr(1));
    perBatch[0] = b.extent(starts, 0);
    at = b.add(at, b.reshape(b.cast(starts, b.i64Type()), perBatch));
  }
  std::string mode = b.stringAttr("mode", "linear");
  b.check(mode == "linear" || mode == "circular", "attribute 'mode' must be linear or circular, not '" + mode + "'");
  if (mode == "circular")
    at = b.binary("tcc.mod", at, b.extentsTensor(b.extent(cache, axis), /*scalar=*/true));
  b.result(b.emit<ir::ScatterElementsOp>(
      {cache, at, update},
      {b.i64("axis", axis), b.attr("kind", ir::ScatterKindAttr::get(b.context(), ir::ScatterKind::Assign))}));
}

} // namespace tcc::onnx
