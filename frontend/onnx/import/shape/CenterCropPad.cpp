// https://onnx.ai/onnx/operators/onnx__CenterCropPad.html: crops or pads each axis about its centre.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertCenterCropPad(NodeBuilder &b) {
  Value x = b.input(0);
  Ints shape = b.constantInput(1, "the shape"), axes;
  if (std::optional<Ints> given = b.intsAttr("axes"))
    for (int64_t axis : *given)
      axes.push_back(b.normalizeAxis(axis, b.rank(x)));
  else
    axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  b.check(axes.size() == shape.size(), "the shape must have one entry an axis");
  for (auto [axis, size] : llvm::zip_equal(axes, shape)) {
    b.check(size >= 0, "the shape has the extent " + Twine(size));
    int64_t extent = b.requireExtent(x, axis, "CenterCropPad");
    if (extent >= size) {
      x = b.sliceAxis(x, axis, (extent - size) / 2, size);
      continue;
    }
    Exprs low(b.rank(x), b.expr(0)), high = low;
    low[axis] = b.expr((size - extent) / 2);
    high[axis] = b.expr(size - extent - (size - extent) / 2);
    x = b.pad(x, {}, low, high);
  }
  b.result(x);
}

} // namespace tcc::onnx
