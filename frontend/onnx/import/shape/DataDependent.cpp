// Ops whose result extents depend on data: NonZero, Compress, Unique.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertNonZero(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.libraryOne("nonzero", {x}, {}, b.tensorType({b.expr(b.rank(x)), b.freshExtent("nonzero")}, b.i64Type())));
}

void convertCompress(NodeBuilder &b) {
  Value x = b.input(0), condition = b.input(1);
  int64_t axis = 0;
  if (b.hasAttr("axis"))
    axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x));
  else
    x = b.reshape(x, {ir::product(b.context(), b.extents(x))});
  if (std::optional<Ints> known = b.constantInts(condition)) {
    Ints kept;
    for (auto [i, keep] : llvm::enumerate(*known))
      if (keep)
        kept.push_back(i);
    b.result(b.gather(x, b.vectorI64(kept), axis));
    return;
  }
  Exprs target = b.extents(x);
  target[axis] = b.freshExtent("compress");
  b.result(b.libraryOne("compress", {x, condition}, b.i64("axis", axis), b.tensorType(target, b.elementType(x))));
}

void convertUnique(NodeBuilder &b) {
  Value x = b.input(0);
  SmallVector<NamedAttribute> config{b.i64("sorted", b.intAttr("sorted", 1))};
  AffineExpr count = b.freshExtent("unique"), inverse;
  Exprs target{count};
  if (b.hasAttr("axis")) {
    int64_t axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x));
    config.push_back(b.i64("axis", axis));
    target = b.extents(x);
    inverse = target[axis];
    target[axis] = count;
  } else {
    inverse = ir::product(b.context(), b.extents(x));
  }
  Type index = b.tensorType({count}, b.i64Type());
  Values results =
      b.library("unique", {x}, config,
                {b.tensorType(target, b.elementType(x)), index, b.tensorType({inverse}, b.i64Type()), index});
  for (size_t i = 0; i < b.numOutputs() && i < 4; ++i)
    b.result(i, results[i]);
}

} // namespace tcc::onnx
