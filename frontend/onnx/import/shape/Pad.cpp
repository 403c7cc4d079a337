// https://onnx.ai/onnx/operators/onnx__Pad.html; widths are an attribute before op set 11.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static ir::PadMode padMode(NodeBuilder &b) {
  std::string mode = b.stringAttr("mode", "constant");
  std::optional<ir::PadMode> kind = ir::symbolizePadMode(mode);
  if (!kind)
    b.fail("attribute 'mode' must be constant, reflect, edge or wrap, not '" + mode + "'");
  return *kind;
}

static void padWith(NodeBuilder &b, ArrayRef<AffineExpr> pads, ArrayRef<int64_t> axes, Value fill) {
  Value x = b.input(0);
  b.check(pads.size() == 2 * axes.size(), "pads must have two entries an axis");
  Exprs low(b.rank(x), b.expr(0)), high = low;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
  }
  ir::PadMode mode = padMode(b);
  if (mode != ir::PadMode::Constant)
    fill = {};
  if (mode == ir::PadMode::Reflect) {
    for (int64_t i = 0; i < b.rank(x); ++i) {
      std::optional<int64_t> n = b.constantExtent(x, i), l = ir::getConstant(low[i]), h = ir::getConstant(high[i]);
      if (n && l && h && (*l >= *n || *h >= *n) && (*l > 0 || *h > 0))
        b.fail("reflection by " + Twine(std::max(*l, *h)) + " is wider than axis " + Twine(i) +
               " allows (extent - 1 = " + Twine(*n - 1) + ")");
    }
  }
  b.result(b.pad(x, fill, low, high, mode));
}

void convertPad(NodeBuilder &b) {
  Value x = b.input(0);
  Value fill = b.optionalInput(2);
  if (fill) {
    b.check(b.elementType(fill) == b.elementType(x), "the fill value must have the element type of the data");
    fill = b.reshape(fill, ArrayRef<int64_t>{});
  }
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  if (b.has(3)) {
    axes.clear();
    for (int64_t axis : b.constantInput(3, "axes"))
      axes.push_back(b.normalizeAxis(axis, b.rank(x)));
  }
  if (std::optional<Exprs> pads = b.knownInput(1)) {
    padWith(b, *pads, axes, fill);
    return;
  }
  Exprs target = b.extents(x);
  for (int64_t axis : axes)
    target[axis] = b.freshExtent("pad");
  b.result(b.libraryOne("dynamic_pad", {x, b.input(1), fill, b.vectorI64(axes)},
                        b.attr("mode", ir::PadModeAttr::get(b.context(), padMode(b))),
                        b.tensorType(target, b.elementType(x))));
}

void convertPadAttributes(NodeBuilder &b) {
  Value x = b.input(0);
  std::optional<Ints> pads = b.intsAttr(b.hasAttr("pads") ? "pads" : "paddings");
  b.check(pads.has_value(), "attribute 'pads' is missing");
  padWith(b, b.exprs(*pads), llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x))), b.like(x, b.floatAttr("value", 0)));
}

} // namespace tcc::onnx
