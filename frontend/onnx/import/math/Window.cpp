// Hann, Hamming and Blackman windows of a constant or symbolic length.
#include "frontend/onnx/import/Conversions.h"

#include <numbers>

using namespace mlir;

namespace tcc::onnx {

static void convertWindow(NodeBuilder &b, ArrayRef<double> cosines) {
  Type type = b.dtypeAttr("output_datatype", b.f32Type());
  Exprs size = b.requireKnown(0, "the window's size");
  b.check(size.size() == 1, "the window's size must have one element");
  // In float64: the angle of a long window needs it.
  Type wide = b.builder.getF64Type();
  Value n = b.cast(b.extentsTensor(size, /*scalar=*/true), wide);
  if (b.intAttr("periodic", 1) == 0)
    n = b.sub(n, 1.0);
  Value i = b.iota(size, 0, wide);
  Value angle = b.div(b.mul(i, 2 * std::numbers::pi), n);
  Value sum = b.scalar(wide, cosines[0]);
  for (size_t k = 1; k < cosines.size(); ++k)
    sum = b.add(sum, b.mul(b.unary<ir::CosOp>(b.mul(angle, static_cast<double>(k))), cosines[k]));
  b.result(b.cast(sum, type));
}

void convertHannWindow(NodeBuilder &b) { convertWindow(b, {0.5, -0.5}); }
void convertHammingWindow(NodeBuilder &b) { convertWindow(b, {25.0 / 46.0, -21.0 / 46.0}); }
void convertBlackmanWindow(NodeBuilder &b) { convertWindow(b, {0.42, -0.5, 0.08}); }

} // namespace tcc::onnx
