// NonMaxSuppression and RoiAlign: library kernels.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertNonMaxSuppression(NodeBuilder &b) {
  Value boxes = b.input(0), scores = b.input(1);
  b.check(b.rank(boxes) == 3 && b.rank(scores) == 3, "needs boxes and scores of rank 3");
  b.result(b.libraryOne("non_max_suppression",
                        {boxes, scores, b.optionalInput(2), b.optionalInput(3), b.optionalInput(4)},
                        b.i64("center_point_box", b.intAttr("center_point_box", 0)),
                        b.tensorType({b.freshExtent("boxes"), b.expr(3)}, b.i64Type())));
}

static void roiAlign(NodeBuilder &b, StringRef coordinates) {
  Value x = b.input(0), rois = b.input(1);
  b.check(b.rank(x) == 4 && b.rank(rois) == 2, "needs an input of rank 4 and boxes of rank 2");
  int64_t height = b.sizeAttr("output_height", 1), width = b.sizeAttr("output_width", 1);
  b.result(b.libraryOne(
      "roi_align", {x, rois, b.input(2)},
      {b.str("mode", b.stringAttr("mode", "avg")), b.i64("output_height", height), b.i64("output_width", width),
       b.i64("sampling_ratio", b.sizeAttr("sampling_ratio", 0)),
       b.f64("spatial_scale", b.floatAttr("spatial_scale", 1)),
       b.str("coordinate_transformation_mode", b.stringAttr("coordinate_transformation_mode", coordinates))},
      b.tensorType({b.extent(rois, 0), b.extent(x, 1), b.expr(height), b.expr(width)}, b.elementType(x))));
}

void convertRoiAlign(NodeBuilder &b) { roiAlign(b, "half_pixel"); }
// Before op set 16 coordinates were not shifted.
void convertRoiAlignUnshifted(NodeBuilder &b) { roiAlign(b, "output_half_pixel"); }

} // namespace tcc::onnx
