// Expand and Tile.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertExpand(NodeBuilder &b) {
  Value x = b.input(0);
  std::optional<Exprs> shape = b.knownInput(1);
  Exprs target;
  bool known = shape.has_value();
  if (known) {
    target = b.broadcastExtents(b.extents(x), *shape);
    known = llvm::all_of(target, [](AffineExpr e) { return bool(e); });
  } else {
    target.resize(std::max(b.rank(x), b.requireRank(b.input(1))));
  }
  if (known) {
    b.result(b.broadcastTo(x, target));
    return;
  }
  for (AffineExpr &e : target)
    if (!e)
      e = b.freshExtent("expand");
  b.result(b.libraryOne("dynamic_expand", {x, b.input(1)}, {}, b.tensorType(target, b.elementType(x))));
}

// A repetition is a broadcast along a new axis before each axis, merged into it.
static Value tile(NodeBuilder &b, Value x, ArrayRef<AffineExpr> repeats) {
  Exprs from = b.extents(x), spread, repeated, merged;
  for (auto [extent, repeat] : llvm::zip_equal(from, repeats)) {
    spread.append({b.expr(1), extent});
    repeated.append({repeat, extent});
    merged.push_back(ir::simplifyExtent(repeat * extent));
  }
  return b.reshape(b.broadcastTo(b.reshape(x, spread), repeated), merged);
}

void convertTile(NodeBuilder &b) {
  Value x = b.input(0);
  if (std::optional<Exprs> repeats = b.knownInput(1)) {
    b.check(repeats->size() == static_cast<size_t>(b.rank(x)), "repeats must have one entry an axis");
    b.result(tile(b, x, *repeats));
    return;
  }
  Exprs target;
  for (int64_t i = 0; i < b.rank(x); ++i)
    target.push_back(b.freshExtent("tile"));
  b.result(b.libraryOne("dynamic_tile", {x, b.input(1)}, {}, b.tensorType(target, b.elementType(x))));
}

// Before op set 6: inputs are the number of tiles and the axis.
void convertTileAxis(NodeBuilder &b) {
  Value x = b.input(0);
  Exprs repeats(b.rank(x), b.expr(1));
  repeats[b.normalizeAxis(b.constantScalarInput(2, "axis"), b.rank(x))] = b.expr(b.constantScalarInput(1, "tiles"));
  b.result(tile(b, x, repeats));
}

} // namespace tcc::onnx
