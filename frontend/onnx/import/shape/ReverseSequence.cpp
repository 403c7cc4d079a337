// https://onnx.ai/onnx/operators/onnx__ReverseSequence.html: each batch entry reverses its first lens[i] steps.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertReverseSequence(NodeBuilder &b) {
  Value x = b.input(0), lengths = b.cast(b.input(1), b.i64Type());
  b.check(b.rank(x) >= 2, "needs a rank of at least 2");
  int64_t batchAxis = b.intAttr("batch_axis", 1), timeAxis = b.intAttr("time_axis", 0);
  b.check((batchAxis == 0 && timeAxis == 1) || (batchAxis == 1 && timeAxis == 0),
          "batch_axis and time_axis must be 0 and 1");
  Exprs extents = b.extents(x), lengthExtents(b.rank(x), b.expr(1));
  lengthExtents[batchAxis] = extents[batchAxis];
  Value length = b.reshape(lengths, lengthExtents);
  Value time = b.iota(extents, timeAxis, b.i64Type());
  Value reversed = b.sub(b.sub(length, time), 1.0);
  Value index = b.select(b.compare(time, length, ir::Predicate::Lt), reversed, time);
  b.result(b.emit<ir::GatherElementsOp>({x, index}, b.i64("axis", timeAxis)));
}

} // namespace tcc::onnx
