// https://onnx.ai/onnx/operators/onnx__MaxUnpool.html: a scatter into zeros by the flat indices that MaxPool gave.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

void convertMaxUnpool(NodeBuilder &b) {
  Value x = b.input(0), indices = b.input(1);
  b.check(b.rank(x) >= 3 && b.rank(indices) == b.rank(x),
          "needs an input of rank 3 or more and indices of the same rank");
  size_t spatial = b.rank(x) - 2;
  std::optional<Ints> kernel = b.intsAttr("kernel_shape");
  b.check(kernel && kernel->size() == spatial, "attribute 'kernel_shape' must have an entry per spatial axis");
  kernel = windowSizes(b, "attribute 'kernel_shape'", *std::move(kernel));
  Ints strides = spatialAttr(b, "strides", spatial, 1), pads = spatialAttr(b, "pads", 2 * spatial, 0);
  Exprs pooled = b.extents(x);
  for (size_t i = 0; i < spatial; ++i)
    pooled[i + 2] =
        ir::simplifyExtent((b.extent(x, i + 2) - 1) * strides[i] + (*kernel)[i] - pads[i] - pads[spatial + i]);
  AffineExpr elements = ir::product(b.context(), b.extents(x)), total = ir::product(b.context(), pooled);
  Value zeros = b.full(total, b.like(x, 0));
  Value y = b.emit<ir::ScatterElementsOp>(
      {zeros, b.reshape(indices, elements), b.reshape(x, elements)},
      {b.i64("axis", 0), b.attr("kind", ir::ScatterKindAttr::get(b.context(), ir::ScatterKind::Assign))});
  y = b.reshape(y, pooled);
  if (b.has(2)) {
    // A larger output keeps the elements in its upper left part.
    Ints shape = b.constantInput(2, "output_shape");
    b.check(shape.size() == pooled.size(), "output_shape must have an entry per axis");
    Exprs low(pooled.size(), b.expr(0)), high = low;
    for (size_t i = 2; i < shape.size(); ++i)
      high[i] = ir::simplifyExtent(b.expr(shape[i]) - pooled[i]);
    y = b.pad(y, {}, low, high);
  }
  b.result(y);
}

} // namespace tcc::onnx
