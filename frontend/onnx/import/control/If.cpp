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

static Branch importBranch(NodeBuilder &b, StringRef attribute, Region &region) {
  Block *block = &region.emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(block);
  return {block, b.graph.importSubgraph(b.graphAttr(attribute), inner, {}, b)};
}

// Extents on which the branches agree and which only name symbols older than the branches; others are known after it.
static RankedTensorType join(NodeBuilder &b, RankedTensorType x, RankedTensorType y, unsigned symbolsBefore) {
  b.check(x.getElementType() == y.getElementType(), "the branches return different element types");
  b.check(x.getRank() == y.getRank(),
          "the branches return different ranks and the condition depends on data; give the model input static extents");
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
  // Regions are filled before the op exists: its result types follow from them. They hang on a placeholder meanwhile.
  OperationState state(b.loc, ir::IfOp::getOperationName(), condition, {}, {});
  Region *thenRegion = state.addRegion(), *elseRegion = state.addRegion();
  Branch branches[] = {importBranch(b, "then_branch", *thenRegion), importBranch(b, "else_branch", *elseRegion)};
  b.check(branches[0].results.size() == branches[1].results.size(), "the branches return different numbers of values");
  for (auto [x, y] : llvm::zip_equal(branches[0].results, branches[1].results)) {
    b.check(x.kind == Item::Kind::Tensor && y.kind == Item::Kind::Tensor,
            "a branch that depends on data returns a sequence or optional, which is not supported");
    state.types.push_back(join(b, b.type(x.tensor), b.type(y.tensor), before));
  }
  for (Branch &branch : branches) {
    OpBuilder inner = OpBuilder::atBlockEnd(branch.block);
    Values values;
    for (const Item &item : branch.results)
      values.push_back(item.tensor);
    inner.create<ir::YieldOp>(b.loc, values);
  }
  Operation *op = b.builder.create(state);
  for (size_t i = 0; i < std::min<size_t>(op->getNumResults(), b.results.size()); ++i)
    b.result(i, Item(op->getResult(i)));
}

} // namespace tcc::onnx
