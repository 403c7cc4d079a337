// https://onnx.ai/onnx/operators/onnx__If.html: a known condition leaves only its branch; otherwise a tcc.if.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/GraphImporter.h"

using namespace mlir;

namespace tcc::onnx {

namespace {
struct Branch {
  Block *block;
  std::vector<Item> results;
};
} // namespace

static Branch importBranch(NodeBuilder &b, StringRef attribute, Region &region, Value condition) {
  Block *block = &region.emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(block);
  try {
    return {block, b.graph.importSubgraph(b.graphAttr(attribute), inner, {}, b)};
  } catch (const ConversionFailure &) {
    // A branch that is never taken for these inputs need not make sense for their extents (a model for two sample
    // rates): with the condition known it is not looked at.
    if (b.needs && b.needs->valueInputs && b.needs->valueInputs->empty())
      b.noteInputsOf(condition);
    throw;
  }
}

// Extents on which the branches agree and which only name symbols older than the branches; others are known after it.
static RankedTensorType join(NodeBuilder &b, RankedTensorType x, RankedTensorType y, unsigned symbolsBefore) {
  b.check(x.getElementType() == y.getElementType(), "the branches return different element types");
  Exprs target;
  for (auto [p, q] : llvm::zip_equal(ir::getExtents(x), ir::getExtents(y))) {
    bool isInner = false;
    p.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        isInner |= symbol.getPosition() >= symbolsBefore;
    });
    target.push_back(p == q && !isInner ? p : b.freshExtent("if"));
  }
  return b.tensorType(target, x.getElementType());
}

void convertIf(NodeBuilder &b) {
  Value condition = b.input(0);
  b.check(b.isBool(condition), "the condition must be bool");
  condition = b.reshape(condition, ArrayRef<int64_t>{});
  if (std::optional<Ints> known = b.constantInts(condition)) {
    StringRef taken = known->front() ? "then_branch" : "else_branch";
    std::vector<Item> results = b.graph.importSubgraph(b.graphAttr(taken), b.builder, {}, b);
    for (size_t i = 0; i < std::min(results.size(), b.results.size()); ++i)
      b.result(i, results[i]);
    return;
  }
  unsigned before = ir::getSymbols(b.function).size();
  // The result types follow from the regions, so these are filled in an op without results, which the real one
  // replaces.
  OperationState shellState(b.loc, ir::IfOp::getOperationName(), condition, {}, {});
  shellState.addRegion();
  shellState.addRegion();
  Operation *shell = b.builder.create(shellState);
  OperationState state(b.loc, ir::IfOp::getOperationName(), condition, {}, {});
  Branch branches[] = {importBranch(b, "then_branch", shell->getRegion(0), condition),
                       importBranch(b, "else_branch", shell->getRegion(1), condition)};
  b.check(branches[0].results.size() == branches[1].results.size(), "the branches return different numbers of values");
  for (auto [x, y] : llvm::zip_equal(branches[0].results, branches[1].results)) {
    if (x.kind != Item::Kind::Tensor || y.kind != Item::Kind::Tensor)
      b.failUnknown(condition, "the condition, whose branches return sequences or optionals,");
    if (b.rank(x.tensor) != b.rank(y.tensor))
      b.failUnknown(condition, "the condition, whose branches return different ranks,");
    state.types.push_back(join(b, b.type(x.tensor), b.type(y.tensor), before));
  }
  for (Branch &branch : branches) {
    OpBuilder inner = OpBuilder::atBlockEnd(branch.block);
    Values values;
    for (const Item &item : branch.results)
      values.push_back(item.tensor);
    inner.create<ir::YieldOp>(b.loc, values);
  }
  for (Region &region : shell->getRegions())
    state.addRegion()->takeBody(region);
  shell->erase();
  Operation *op = b.builder.create(state);
  for (size_t i = 0; i < std::min<size_t>(op->getNumResults(), b.results.size()); ++i)
    b.result(i, Item(op->getResult(i)));
}

} // namespace tcc::onnx
