// Gather, GatherElements, GatherND.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertGather(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.gather(x, b.input(1), b.normalizeAxis(b.intAttr("axis", 0), b.rank(x))));
}

void convertGatherElements(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == b.rank(b.input(1)), "indices must have the rank of the data");
  b.result(
      b.emit<ir::GatherElementsOp>({x, b.input(1)}, b.i64("axis", b.normalizeAxis(b.intAttr("axis", 0), b.rank(x)))));
}

void convertGatherND(NodeBuilder &b) {
  b.check(b.rank(b.input(1)) > 0, "needs indices of rank 1 or more");
  b.requireExtent(b.input(1), b.rank(b.input(1)) - 1, "the index tuple");
  b.result(b.emit<ir::GatherNdOp>({b.input(0), b.input(1)}, b.i64("batch_dims", b.sizeAttr("batch_dims", 0))));
}

} // namespace tcc::onnx
