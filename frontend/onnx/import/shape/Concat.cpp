// https://onnx.ai/onnx/operators/onnx__Concat.html
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertConcat(NodeBuilder &b) {
  Values xs = b.inputs();
  b.check(!xs.empty(), "needs at least one input");
  int64_t rank = b.rank(xs[0]);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 1), rank);
  for (Value &x : xs) {
    b.check(b.rank(x) == rank, "operands have different ranks");
    b.check(b.elementType(x) == b.elementType(xs[0]), "operands have different element types");
    Exprs target = b.extents(xs[0]);
    target[axis] = b.extent(x, axis);
    for (int64_t i = 0; i < rank; ++i) {
      std::optional<int64_t> have = b.constantExtent(x, i), want = ir::getConstant(target[i]);
      b.check(!have || !want || *have == *want, "operands differ at axis " + Twine(i));
    }
    // Different symbols that must be equal: checked at run time.
    if (!llvm::equal(b.extents(x), target))
      x = b.libraryOne("dynamic_reshape", {x, b.extentsTensor(target)}, b.flag("allowzero", true),
                       b.tensorType(target, b.elementType(x)));
  }
  b.result(b.concat(xs, axis));
}

} // namespace tcc::onnx
