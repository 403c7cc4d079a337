// Constant and ConstantOfShape.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertConstant(NodeBuilder &b) {
  if (Value value = b.tensorAttr("value")) {
    b.result(value);
  } else if (b.hasAttr("value_int")) {
    b.result(b.scalarInt(b.i64Type(), b.intAttr("value_int", 0)));
  } else if (b.hasAttr("value_float")) {
    b.result(b.scalar(b.f32Type(), b.floatAttr("value_float", 0)));
  } else if (std::optional<Ints> ints = b.intsAttr("value_ints")) {
    b.result(b.vectorI64(*ints));
  } else if (auto floats = b.floatsAttr("value_floats")) {
    b.result(b.vectorF(*floats, b.f32Type()));
  } else if (b.hasAttr("value_string") || b.hasAttr("value_strings")) {
    std::vector<std::string> strings =
        b.stringsAttr("value_strings").value_or(std::vector<std::string>{b.stringAttr("value_string", "")});
    SmallVector<StringRef> refs(strings.begin(), strings.end());
    SmallVector<int64_t> shape;
    if (b.hasAttr("value_strings"))
      shape.push_back(refs.size());
    b.result(b.emit<ir::StringConstantOp>({}, b.attr("value", b.builder.getStrArrayAttr(refs)),
                                          RankedTensorType::get(shape, ir::StringType::get(b.context()))));
  } else {
    b.fail("has no value that is supported (sparse ones are not)");
  }
}

void convertConstantOfShape(NodeBuilder &b) {
  Value fill = b.hasAttr("value") ? b.tensorAttr("value") : b.scalar(b.f32Type(), 0);
  fill = b.reshape(fill, ArrayRef<int64_t>{});
  if (std::optional<Exprs> extents = b.knownInput(0)) {
    for (AffineExpr e : *extents)
      if (std::optional<int64_t> n = ir::getConstant(e))
        b.check(*n >= 0, "the shape has the extent " + Twine(*n));
    b.result(b.full(*extents, fill));
    return;
  }
  Exprs target;
  for (int64_t i = 0, rank = b.requireRank(b.input(0)); i < rank; ++i)
    target.push_back(b.freshExtent("shape"));
  b.result(b.libraryOne("dynamic_expand", {fill, b.input(0)}, {}, b.tensorType(target, b.elementType(fill))));
}

} // namespace tcc::onnx
