// https://onnx.ai/onnx/operators/onnx__Transpose.html: without perm the axes are reversed.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertTranspose(NodeBuilder &b) {
  Value x = b.input(0);
  Ints permutation;
  if (std::optional<Ints> given = b.intsAttr("perm")) {
    for (int64_t axis : *given)
      permutation.push_back(b.normalizeAxis(axis, b.rank(x)));
    b.check(b.normalizeAxes(permutation, b.rank(x)).size() == static_cast<size_t>(b.rank(x)),
            "attribute 'perm' must name every axis once");
  } else {
    for (int64_t i = b.rank(x) - 1; i >= 0; --i)
      permutation.push_back(i);
  }
  b.result(b.transpose(x, permutation));
}

} // namespace tcc::onnx
