// https://onnx.ai/onnx/operators/onnx__Reshape.html: 0 copies the input extent at that position unless allowzero, one
// -1 is inferred.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value reshapeTo(NodeBuilder &b, Value x, Exprs target, bool allowZero) {
  Exprs from = b.extents(x), others;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < target.size(); ++i) {
    std::optional<int64_t> n = ir::getConstant(target[i]);
    if (n == -1) {
      b.check(!inferred, "the shape has more than one -1");
      inferred = i;
      continue;
    }
    if (n && *n < -1)
      b.fail("the shape has the extent " + Twine(*n));
    if (n == 0 && !allowZero) {
      b.check(i < from.size(), "the shape copies (0) the extent of an axis the input does not have");
      target[i] = from[i];
    }
    others.push_back(target[i]);
  }
  AffineExpr total = ir::product(b.context(), from);
  if (inferred) {
    AffineExpr rest = ir::product(b.context(), others);
    if (std::optional<int64_t> r = ir::getConstant(rest), t = ir::getConstant(total); r && t) {
      b.check(*r != 0 ? *t % *r == 0 : true, Twine(*t) + " elements do not fill the requested shape");
    }
    target[*inferred] = b.divideProducts(from, others);
  }
  AffineExpr wanted = ir::product(b.context(), target);
  std::optional<int64_t> have = ir::getConstant(total), want = ir::getConstant(wanted);
  if (have && want && *have != *want)
    b.fail("cannot reshape " + Twine(*have) + " elements to " + Twine(*want));
  if (total == wanted)
    return b.reshape(x, target);
  // Whether the number of elements fits is known only at run time (a batch size baked into the shape): checked there.
  return b.libraryOne("dynamic_reshape", {x, b.extentsTensor(target)}, b.flag("allowzero", true),
                      b.tensorType(target, b.elementType(x)));
}

void convertReshape(NodeBuilder &b) {
  Value x = b.input(0);
  bool allowZero = b.intAttr("allowzero", 0) != 0;
  if (std::optional<Exprs> known = b.knownInput(1)) {
    b.check(b.rank(b.input(1)) == 1, "the shape must be of rank 1");
    b.result(reshapeTo(b, x, *known, allowZero));
    return;
  }
  int64_t rank = b.requireRank(b.input(1));
  Exprs extents;
  for (int64_t i = 0; i < rank; ++i)
    extents.push_back(b.freshExtent("reshape"));
  b.result(b.libraryOne("dynamic_reshape", {x, b.input(1)}, b.flag("allowzero", allowZero),
                        b.tensorType(extents, b.elementType(x))));
}

void convertReshapeAttribute(NodeBuilder &b) {
  std::optional<Ints> shape = b.intsAttr("shape");
  b.check(shape.has_value(), "attribute 'shape' is missing");
  b.result(reshapeTo(b, b.input(0), b.exprs(*shape), /*allowZero=*/false));
}

// https://onnx.ai/onnx/operators/onnx__Flatten.html
void convertFlatten(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.intAttr("axis", 1), rank = b.rank(x);
  b.check(axis >= -rank && axis <= rank, "axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
  if (axis < 0)
    axis += rank;
  Exprs e = b.extents(x);
  b.result(b.reshape(x, {ir::product(b.context(), ArrayRef(e).take_front(axis)),
                         ir::product(b.context(), ArrayRef(e).drop_front(axis))}));
}

} // namespace tcc::onnx
