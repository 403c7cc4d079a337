// Squeeze and Unsqueeze; axes are an attribute before op set 13.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertSqueeze(NodeBuilder &b) {
  Value x = b.input(0);
  std::optional<Ints> axes = b.axesAttrOrInput(1);
  if (!axes) {
    axes.emplace();
    for (int64_t i = 0; i < b.rank(x); ++i) {
      AffineExpr e = b.extent(x, i);
      // Guessing the rank would be wrong for an extent that may turn out to be 1.
      if (!ir::getConstant(e) && b.range(e).first <= 1)
        b.requireExtent(x, i, "Squeeze without axes");
      if (ir::getConstant(e) == 1)
        axes->push_back(i);
    }
  }
  b.result(b.squeeze(x, *axes));
}

void convertUnsqueeze(NodeBuilder &b) {
  std::optional<Ints> axes = b.axesAttrOrInput(1);
  b.check(axes.has_value(), "axes are missing");
  b.result(b.unsqueeze(b.input(0), *axes));
}

} // namespace tcc::onnx
