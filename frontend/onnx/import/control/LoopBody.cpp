//===- LoopBody.cpp - types of carried values by iteration to a fixed point ==//
#include "frontend/onnx/import/control/LoopBody.h"

using namespace mlir;

namespace tcc::onnx {

static bool namesSymbolFrom(AffineExpr e, unsigned first) {
  bool found = false;
  e.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      found |= symbol.getPosition() >= first;
  });
  return found;
}

Values buildLoop(NodeBuilder &b, Value tripCount, Value condition, Values initial, LoopBody body) {
  unsigned before = ir::getSymbols(b.function).size();
  // Positions (value, axis) of extents that change in the loop.
  SmallVector<SmallVector<bool>> varies;
  for (Value v : initial)
    varies.emplace_back(b.rank(v), false);
  // Each round marks at least one more extent, so it ends.
  while (true) {
    ArrayAttr symbols = ir::getSymbols(b.function);
    // The result types follow from the region: it is filled in an op without results, which the real one replaces.
    OperationState shellState(b.loc, ir::LoopOp::getOperationName());
    shellState.addRegion();
    Operation *shell = b.builder.create(shellState);
    OperationState state(b.loc, ir::LoopOp::getOperationName());
    Block *block = &shell->getRegion(0).emplaceBlock();
    Value iteration = block->addArgument(RankedTensorType::get({}, b.i64Type()), b.loc);
    Values carried;
    for (auto [i, v] : llvm::enumerate(initial)) {
      Exprs extents = b.extents(v);
      for (auto [axis, e] : llvm::enumerate(extents))
        if (varies[i][axis])
          e = b.freshExtent("carried");
      carried.push_back(block->addArgument(b.tensorType(extents, b.elementType(v)), b.loc));
    }
    OpBuilder inner = OpBuilder::atBlockBegin(block);
    Values yielded = body(inner, iteration, carried);
    b.check(yielded.size() >= 1 + initial.size(), "the body returns too few values");
    bool changed = false;
    for (auto [i, v] : llvm::enumerate(initial)) {
      Value next = yielded[i + 1];
      b.check(b.elementType(next) == b.elementType(v), "carried value " + Twine(i) + " changes its element type");
      b.check(b.rank(next) == b.rank(v),
              "carried value " + Twine(i) + " changes its rank from one iteration to the next");
      for (int64_t axis = 0; axis < b.rank(v); ++axis) {
        if (varies[i][axis] || b.extent(next, axis) == b.extent(carried[i], axis))
          continue;
        varies[i][axis] = changed = true;
      }
    }
    if (changed) {
      shell->erase();
      b.function->setAttr(ir::TCCDialect::kSymbolsAttr, symbols);
      continue;
    }
    inner.create<ir::YieldOp>(b.loc, yielded);
    for (auto [i, v] : llvm::enumerate(initial)) {
      Exprs extents = b.extents(v);
      for (auto [axis, e] : llvm::enumerate(extents))
        if (varies[i][axis])
          e = b.freshExtent("loop");
      state.types.push_back(b.tensorType(extents, b.elementType(v)));
    }
    // A condition that holds from the start and after each iteration is none. (Holding from the start alone makes a
    // do-while loop.)
    auto holds = [&](Value v) {
      std::optional<Ints> known = b.constantInts(v);
      return known && known->front();
    };
    if (condition && holds(condition) && holds(yielded[0]))
      condition = {};
    b.check(tripCount || condition, "the loop never ends: it has no trip count, and its condition always holds");
    std::optional<Exprs> trips = tripCount && !condition ? b.knownInts(tripCount) : std::nullopt;
    bool counted = trips && b.range(trips->front()).first >= 0;
    for (Value element : ArrayRef(yielded).drop_front(1 + initial.size())) {
      Exprs extents{counted ? trips->front() : b.freshExtent("iterations")};
      for (AffineExpr e : b.extents(element))
        extents.push_back(namesSymbolFrom(e, before) ? b.freshExtent("loop") : e);
      state.types.push_back(b.tensorType(extents, b.elementType(element)));
    }
    if (tripCount)
      state.operands.push_back(tripCount);
    if (condition)
      state.operands.push_back(condition);
    llvm::append_range(state.operands, initial);
    state.addAttribute("operandSegmentSizes",
                       b.builder.getDenseI32ArrayAttr({tripCount ? 1 : 0, condition ? 1 : 0, int32_t(initial.size())}));
    state.addRegion()->takeBody(shell->getRegion(0));
    shell->erase();
    return Values(b.builder.create(state)->getResults());
  }
}

} // namespace tcc::onnx
