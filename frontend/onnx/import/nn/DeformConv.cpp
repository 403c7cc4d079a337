// https://onnx.ai/onnx/operators/onnx__DeformConv.html
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

void convertDeformConv(NodeBuilder &b) {
  Value x = b.input(0), w = b.input(1);
  b.check(b.rank(x) == 4 && b.rank(w) == 4, "needs an input and weights of rank 4");
  Ints kernel{b.requireExtent(w, 2, "the kernel"), b.requireExtent(w, 3, "the kernel")};
  Window window = readWindow(b, x, kernel);
  Ints pads = window.low;
  pads.append(window.high);
  Exprs target{b.extent(x, 0), b.extent(w, 0)};
  for (size_t i = 0; i < 2; ++i) {
    int64_t span = (kernel[i] - 1) * window.dilations[i] + 1;
    AffineExpr padded = b.extent(x, i + 2) + (window.low[i] + window.high[i] - span);
    target.push_back(ir::simplifyExtent(padded.floorDiv(window.strides[i]) + 1));
  }
  b.result(b.libraryOne("deform_conv", {x, w, b.input(2), b.optionalInput(3), b.optionalInput(4)},
                        {b.i64s("strides", window.strides), b.i64s("pads", pads), b.i64s("dilations", window.dilations),
                         b.i64("group", b.sizeAttr("group", 1)), b.i64("offset_group", b.sizeAttr("offset_group", 1))},
                        b.tensorType(target, b.elementType(x))));
}

} // namespace tcc::onnx
