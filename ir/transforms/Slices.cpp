//===- Slices.cpp -----------------------------------------------------------===//
#include "ir/transforms/Slices.h"

#include "ir/OpSupport.h"

namespace tcc::ir {

mlir::Value sliceAlong(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, int64_t axis, int64_t start,
                       int64_t size) {
  Exprs extents = getExtents(whole.getType());
  if (start == 0 && getConstant(extents[axis]) == size)
    return whole;
  llvm::SmallVector<int64_t> starts(extents.size(), 0), steps(extents.size(), 1);
  starts[axis] = start;
  extents[axis] = b.getAffineConstantExpr(size);
  return b.create<SliceOp>(loc, makeTensorType(extents, tensorType(whole).getElementType()), whole,
                           ExtentsAttr::fromConstants(b.getContext(), starts), b.getDenseI64ArrayAttr(steps));
}

std::optional<Piece> pieceOf(SliceOp slice) {
  Exprs from = getExtents(slice.getX().getType()), to = getExtents(slice.getType());
  std::optional<Piece> piece;
  for (auto [axis, start] : llvm::enumerate(slice.getStarts().getExprs())) {
    if (slice.getSteps()[axis] != 1)
      return std::nullopt;
    if (from[axis] == to[axis])
      continue;
    auto first = getConstant(start), size = getConstant(to[axis]);
    if (piece || !first || !size || *size == 0)
      return std::nullopt;
    piece = Piece{slice, static_cast<int64_t>(axis), *first, *size};
  }
  return piece;
}

} // namespace tcc::ir
