// https://onnx.ai/onnx/operators/onnx__Col2Im.html: overlapping blocks are added into an image, by one scatter of
// constant indices.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

static constexpr int64_t kMaxIndices = int64_t(1) << 26;

void convertCol2Im(NodeBuilder &b) {
  Value x = b.input(0);
  Ints image = b.constantInput(1, "image_shape"), block = b.constantInput(2, "block_shape");
  size_t dims = image.size();
  b.check(b.rank(x) == 3 && dims > 0 && block.size() == dims,
          "needs an input of rank 3 and a block of the image's rank");
  block = windowSizes(b, "block_shape", std::move(block));
  Ints strides = spatialAttr(b, "strides", dims, 1), dilations = spatialAttr(b, "dilations", dims, 1);
  Ints pads = spatialAttr(b, "pads", 2 * dims, 0);
  Ints padded(dims), blocks(dims);
  int64_t kernel = 1, columns = 1, pixels = 1;
  for (size_t i = 0; i < dims; ++i) {
    b.check(image[i] > 0 && block[i] > 0 && strides[i] > 0 && dilations[i] > 0 && image[i] < kMaxIndices,
            "shapes, strides and dilations must be positive");
    padded[i] = image[i] + pads[i] + pads[dims + i];
    blocks[i] = (padded[i] - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1;
    b.check(blocks[i] > 0, "the block is larger than the image");
    kernel *= block[i];
    columns *= blocks[i];
    pixels *= padded[i];
    // (Each alone first: their product must not overflow.)
    b.check(kernel < kMaxIndices && columns < kMaxIndices && pixels < kMaxIndices && kernel * columns < kMaxIndices,
            "the image is too large");
  }
  if (std::optional<int64_t> n = b.constantExtent(x, 2))
    b.check(*n == columns, "the input has " + Twine(*n) + " blocks, the image " + Twine(columns));
  // Flat position in the padded image of every element of every block.
  Ints indices;
  indices.reserve(kernel * columns);
  for (int64_t k = 0; k < kernel; ++k) {
    for (int64_t c = 0; c < columns; ++c) {
      int64_t position = 0, scale = 1, restK = k, restC = c;
      for (size_t i = dims; i-- > 0;) {
        position += (restC % blocks[i] * strides[i] + restK % block[i] * dilations[i]) * scale;
        scale *= padded[i];
        restK /= block[i];
        restC /= blocks[i];
      }
      indices.push_back(position);
    }
  }
  AffineExpr batch = b.extent(x, 0), channels = b.divideProducts({b.extent(x, 1)}, {b.expr(kernel)});
  AffineExpr rows = ir::simplifyExtent(batch * channels);
  Exprs flat{rows, b.expr(kernel * columns)};
  Value updates = b.reshape(x, flat), at = b.broadcastTo(b.unsqueeze(b.vectorI64(indices), {0}), flat);
  Value zeros = b.full({rows, b.expr(pixels)}, b.like(x, 0));
  Value y = b.emit<ir::ScatterElementsOp>(
      {zeros, at, updates},
      {b.i64("axis", 1), b.attr("kind", ir::ScatterKindAttr::get(b.context(), ir::ScatterKind::Add))});
  Exprs target{batch, channels};
  target.append(b.exprs(padded));
  y = b.reshape(y, target);
  for (size_t i = 0; i < dims; ++i)
    y = b.sliceAxis(y, i + 2, pads[i], image[i]);
  b.result(y);
}

} // namespace tcc::onnx
