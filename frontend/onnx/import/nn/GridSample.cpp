// GridSample: op set 20 renamed the modes. AffineGrid makes its grids.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static void gridSample(NodeBuilder &b, StringRef linear, StringRef cubic) {
  std::string mode = b.stringAttr("mode", linear), padding = b.stringAttr("padding_mode", "zeros");
  ir::GridMode kind = ir::GridMode::Nearest;
  if (mode == linear)
    kind = ir::GridMode::Linear;
  else if (mode == cubic)
    kind = ir::GridMode::Cubic;
  else
    b.check(mode == "nearest",
            "attribute 'mode' must be " + linear + ", nearest or " + cubic + " in this op set, not '" + mode + "'");
  auto outside = ir::symbolizeGridPadding(padding);
  if (!outside)
    b.fail("attribute 'padding_mode' must be zeros, border or reflection, not '" + padding + "'");
  b.check(b.rank(b.input(1)) >= 3, "needs a grid of rank 3 or more");
  b.requireExtent(b.input(1), b.rank(b.input(1)) - 1, "the coordinates of the grid");
  b.result(b.emit<ir::GridSampleOp>({b.input(0), b.input(1)},
                                    {b.attr("mode", ir::GridModeAttr::get(b.context(), kind)),
                                     b.attr("padding", ir::GridPaddingAttr::get(b.context(), *outside)),
                                     b.flag("align_corners", b.intAttr("align_corners", 0) != 0)}));
}

void convertGridSample(NodeBuilder &b) { gridSample(b, "linear", "cubic"); }
void convertGridSampleOldNames(NodeBuilder &b) { gridSample(b, "bilinear", "bicubic"); }

// https://onnx.ai/onnx/operators/onnx__AffineGrid.html: theta applied to the homogeneous coordinates of every pixel.
void convertAffineGrid(NodeBuilder &b) {
  Value theta = b.input(0);
  Exprs size = b.requireKnown(1, "the size");
  b.check(b.rank(theta) == 3 && (size.size() == 4 || size.size() == 5),
          "needs theta of rank 3 and a size of 4 or 5 entries");
  bool align = b.intAttr("align_corners", 0) != 0;
  Type type = b.elementType(theta);
  Exprs spatial(size.begin() + 2, size.end());
  int64_t dims = spatial.size();
  Values coordinates;
  Exprs column = spatial;
  column.push_back(b.expr(1));
  for (int64_t axis = dims - 1; axis >= 0; --axis) {
    Value i = b.iota(spatial, axis, type);
    Value n = b.cast(b.extentsTensor(spatial[axis], /*scalar=*/true), type);
    Value c = align ? b.sub(b.div(b.mul(i, 2.0), b.sub(n, 1.0)), 1.0) : b.sub(b.div(b.add(b.mul(i, 2.0), 1.0), n), 1.0);
    coordinates.push_back(b.reshape(c, column));
  }
  coordinates.push_back(b.full(column, b.scalar(type, 1)));
  AffineExpr pixels = ir::product(b.context(), spatial);
  Value points = b.reshape(b.concat(coordinates, dims), {b.expr(1), pixels, b.expr(dims + 1)});
  Value grid = b.matmul(points, b.transposeLast(theta));
  Exprs target{size.front()};
  target.append(spatial);
  target.push_back(b.expr(dims));
  b.result(b.reshape(grid, target));
}

} // namespace tcc::onnx
