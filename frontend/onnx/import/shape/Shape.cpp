// Shape and Size: symbol expressions, no data is read.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertShape(NodeBuilder &b) {
  Exprs extents = b.extents(b.input(0));
  int64_t rank = extents.size();
  auto bound = [&](StringRef name, int64_t fallback) {
    int64_t v = b.intAttr(name, fallback);
    return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  b.result(b.extentsTensor(ArrayRef(extents).slice(start, std::max<int64_t>(0, end - start))));
}

void convertSize(NodeBuilder &b) {
  b.result(b.extentsTensor(ir::product(b.context(), b.extents(b.input(0))), /*scalar=*/true));
}

void convertIdentity(NodeBuilder &b) { b.result(0, b.item(0)); }

} // namespace tcc::onnx
