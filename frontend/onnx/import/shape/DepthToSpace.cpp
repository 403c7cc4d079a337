// DepthToSpace and SpaceToDepth: two reshapes around a transpose.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertDepthToSpace(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 4, "needs an input of rank 4");
  int64_t block = b.requiredInt("blocksize");
  b.check(block > 0, "attribute 'blocksize' must be positive");
  std::string mode = b.stringAttr("mode", "DCR");
  b.check(mode == "DCR" || mode == "CRD", "attribute 'mode' must be DCR or CRD, not '" + mode + "'");
  Exprs e = b.extents(x);
  if (std::optional<int64_t> channels = ir::getConstant(e[1]))
    b.check(*channels % (block * block) == 0, "the channels are no multiple of the square of the block size");
  AffineExpr n = b.expr(block), c = b.divideProducts({e[1]}, {b.expr(block * block)});
  AffineExpr height = ir::simplifyExtent(e[2] * block), width = ir::simplifyExtent(e[3] * block);
  Value y;
  if (mode == "DCR")
    y = b.transpose(b.reshape(x, {e[0], n, n, c, e[2], e[3]}), {0, 3, 4, 1, 5, 2});
  else
    y = b.transpose(b.reshape(x, {e[0], c, n, n, e[2], e[3]}), {0, 1, 4, 2, 5, 3});
  b.result(b.reshape(y, {e[0], c, height, width}));
}

void convertSpaceToDepth(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 4, "needs an input of rank 4");
  int64_t block = b.requiredInt("blocksize");
  b.check(block > 0, "attribute 'blocksize' must be positive");
  Exprs e = b.extents(x);
  for (int64_t axis : {2, 3})
    if (std::optional<int64_t> extent = ir::getConstant(e[axis]))
      b.check(*extent % block == 0, "the extent of axis " + Twine(axis) + " is no multiple of the block size");
  AffineExpr n = b.expr(block), h = b.divideProducts({e[2]}, {n}), w = b.divideProducts({e[3]}, {n});
  std::string mode = b.stringAttr("mode", "DCR");
  b.check(mode == "DCR" || mode == "CRD", "attribute 'mode' must be DCR or CRD, not '" + mode + "'");
  Value blocks = b.reshape(x, {e[0], e[1], h, n, w, n});
  Value y = mode == "DCR" ? b.transpose(blocks, {0, 3, 5, 1, 2, 4}) : b.transpose(blocks, {0, 1, 3, 5, 2, 4});
  b.result(b.reshape(y, {e[0], ir::simplifyExtent(e[1] * (block * block)), h, w}));
}

} // namespace tcc::onnx
