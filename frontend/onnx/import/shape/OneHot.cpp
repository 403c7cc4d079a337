// https://onnx.ai/onnx/operators/onnx__OneHot.html: negative indices count from depth, others out of range give the off
// value.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertOneHot(NodeBuilder &b) {
  Value indices = b.cast(b.input(0), b.i64Type());
  Value depthValue = b.cast(b.reshape(b.input(1), ArrayRef<int64_t>{}), b.i64Type());
  Value values = b.input(2);
  b.check(b.rank(values) == 1, "values must be [off, on]");
  int64_t axis = b.normalizeAxis(b.intAttr("axis", -1), b.rank(indices) + 1);
  std::optional<Exprs> known = b.knownInts(depthValue);
  AffineExpr depth = known ? known->front() : b.freshExtent("depth");
  Exprs target = b.extents(indices);
  target.insert(target.begin() + axis, depth);
  if (!known) {
    b.result(b.libraryOne("one_hot", {indices, depthValue, values}, b.i64("axis", axis),
                          b.tensorType(target, b.elementType(values))));
    return;
  }
  Value zero = b.scalarInt(b.i64Type(), 0);
  Value wrapped = b.select(b.compare(indices, zero, ir::Predicate::Lt), b.add(indices, depthValue), indices);
  Value hit = b.compare(b.iota(target, axis, b.i64Type()), b.unsqueeze(wrapped, {axis}), ir::Predicate::Eq);
  auto value = [&](int64_t i) { return b.squeeze(b.sliceAxis(values, 0, i, 1), {0}); };
  b.result(b.select(hit, value(1), value(0)));
}

} // namespace tcc::onnx
