//===- MergeKernels.cpp - merging kernels and loops -----------------------===//
#include "codegen/fusion/KernelBuilder.h"
#include "codegen/fusion/KernelRewrite.h"

using namespace mlir;

namespace tcc::codegen {

ir::KernelOp mergeKernels(ir::KernelOp producer, ir::KernelOp consumer, ArrayRef<unsigned> keep, Operation *place) {
  OpBuilder b(place ? place : consumer);
  llvm::SetVector<Value> inputs(producer.getInputs().begin(), producer.getInputs().end());
  for (Value input : consumer.getInputs())
    if (input.getDefiningOp() != producer)
      inputs.insert(input);
  llvm::SmallVector<Type> results(consumer->getResultTypes());
  for (unsigned i : keep)
    results.push_back(producer.getResult(i).getType());
  // The order in which the ops ran, each once.
  llvm::SetVector<Attribute> sources(producer.getSources().begin(), producer.getSources().end());
  sources.insert(consumer.getSources().begin(), consumer.getSources().end());
  Location loc = FusedLoc::get(b.getContext(), {producer.getLoc(), consumer.getLoc()});
  auto merged = b.create<ir::KernelOp>(loc, results, inputs.getArrayRef(), b.getArrayAttr(sources.getArrayRef()));
  Block &block = merged.getBody().emplaceBlock();
  IRMapping mapping;
  llvm::DenseMap<Value, Value> argumentOf;
  for (Value input : inputs)
    argumentOf[input] = block.addArgument(signlessTensor(input.getType()), input.getLoc());
  b.setInsertionPointToEnd(&block);

  auto cloneBody = [&](ir::KernelOp kernel) {
    for (Operation &op : kernel.getBody().front().without_terminator())
      b.clone(op, mapping);
    return kernel.getBody().front().getTerminator();
  };
  for (auto [input, argument] : llvm::zip_equal(producer.getInputs(), producer.getBody().getArguments()))
    mapping.map(argument, argumentOf[input]);
  Operation *producerYield = cloneBody(producer);
  llvm::SmallVector<Value> made;
  for (Value value : producerYield->getOperands())
    made.push_back(mapping.lookupOrDefault(value));
  for (auto [input, argument] : llvm::zip_equal(consumer.getInputs(), consumer.getBody().getArguments())) {
    bool inside = input.getDefiningOp() == producer;
    mapping.map(argument, inside ? made[cast<OpResult>(input).getResultNumber()] : argumentOf[input]);
  }
  Operation *consumerYield = cloneBody(consumer);
  llvm::SmallVector<Value> yields;
  for (Value value : consumerYield->getOperands())
    yields.push_back(mapping.lookupOrDefault(value));
  for (unsigned i : keep)
    yields.push_back(made[i]);
  b.create<ir::YieldOp>(loc, yields);
  return merged;
}

void inlineIntoLoad(ir::LoadOp load) {
  auto result = cast<OpResult>(load.getTensor());
  auto loops = cast<ir::LoopsOp>(result.getOwner());
  OpBuilder b(load);
  Location loc = load.getLoc();
  AffineMap map = load.getMap();
  Block &body = loops.getBody().front();
  IRMapping mapping;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    auto single = AffineMapAttr::get(map.getSubMap({static_cast<unsigned>(i)}));
    mapping.map(argument, b.create<ir::ApplyOp>(loc, b.getIndexType(), load.getIndices(), single).getResult());
  }
  IntegerSetAttr maskAttr = load.getMaskAttr();
  Value inside;
  if (maskAttr)
    inside = b.create<ir::InSetOp>(loc, b.getI1Type(), load.getIndices(), maskAttr);
  for (Operation &op : body.without_terminator()) {
    if (auto check = dyn_cast<ir::BoundsCheckOp>(op); check && maskAttr) {
      // ... and what is not read is not out of range.
      auto clone = cast<ir::BoundsCheckOp>(b.clone(op, mapping));
      Value when = clone.getWhen();
      clone.getWhenMutable().assign(when ? b.create<arith::AndIOp>(loc, when, inside).getResult() : inside);
      if (when)
        clone->moveAfter(clone.getWhen().getDefiningOp());
      continue;
    }
    auto inner = dyn_cast<ir::LoadOp>(op);
    if (!inner || !maskAttr) {
      b.clone(op, mapping);
      continue;
    }
    // Outside of the mask the indices may be anything: the inner loads are masked too.
    IntegerSet mask = maskAttr.getValue();
    llvm::SmallVector<Value> indices;
    for (Value index : inner.getIndices())
      indices.push_back(mapping.lookupOrDefault(index));
    unsigned numInner = indices.size();
    llvm::append_range(indices, load.getIndices());
    unsigned numSymbols = std::max(inner.getMap().getNumSymbols(), mask.getNumSymbols());
    llvm::SmallVector<AffineExpr> constraints;
    llvm::SmallVector<bool> equalities;
    if (IntegerSetAttr own = inner.getMaskAttr()) {
      llvm::append_range(constraints, own.getValue().getConstraints());
      llvm::append_range(equalities, own.getValue().getEqFlags());
      numSymbols = std::max(numSymbols, own.getValue().getNumSymbols());
    }
    for (AffineExpr constraint : mask.getConstraints())
      constraints.push_back(constraint.shiftDims(mask.getNumDims(), numInner));
    llvm::append_range(equalities, mask.getEqFlags());
    auto both = IntegerSetAttr::get(IntegerSet::get(indices.size(), numSymbols, constraints, equalities));
    auto innerMap =
        AffineMapAttr::get(AffineMap::get(indices.size(), numSymbols, inner.getMap().getResults(), b.getContext()));
    Value fill = inner.getFill() ? mapping.lookupOrDefault(inner.getFill()) : Value();
    auto clone =
        b.create<ir::LoadOp>(inner.getLoc(), inner.getType(), inner.getTensor(), indices, fill, innerMap, both);
    mapping.map(inner.getResult(), clone.getResult());
  }
  Value value = mapping.lookupOrDefault(body.getTerminator()->getOperand(result.getResultNumber()));
  if (maskAttr) {
    Value fill = load.getFill();
    if (!fill)
      fill = b.create<arith::ConstantOp>(loc, b.getZeroAttr(value.getType()));
    value = b.create<arith::SelectOp>(loc, inside, value, fill);
  }
  load.replaceAllUsesWith(value);
  load.erase();
}

ir::LoopsOp mergeLoops(ir::LoopsOp first, ir::LoopsOp second) {
  OpBuilder b(second);
  llvm::SmallVector<Type> results(second->getResultTypes());
  llvm::append_range(results, first->getResultTypes());
  llvm::SmallVector<Attribute> kinds(second.getKinds().begin(), second.getKinds().end());
  llvm::append_range(kinds, first.getKinds());
  auto merged = b.create<ir::LoopsOp>(second.getLoc(), results, second.getExtents(), second.getNumReductions(),
                                      b.getArrayAttr(kinds));
  Block &block = merged.getBody().emplaceBlock();
  for (Value argument : second.getBody().getArguments())
    block.addArgument(b.getIndexType(), argument.getLoc());
  b.setInsertionPointToEnd(&block);
  IRMapping mapping;
  auto cloneBody = [&](ir::LoopsOp loops) {
    Block &body = loops.getBody().front();
    mapping.map(body.getArguments(), block.getArguments());
    for (Operation &op : body.without_terminator()) {
      auto load = dyn_cast<ir::LoadOp>(op);
      auto from = load ? dyn_cast<OpResult>(load.getTensor()) : OpResult();
      if (from && from.getOwner() == first)
        mapping.map(load.getResult(),
                    mapping.lookup(first.getBody().front().getTerminator()->getOperand(from.getResultNumber())));
      else
        b.clone(op, mapping);
    }
    llvm::SmallVector<Value> yields;
    for (Value value : body.getTerminator()->getOperands())
      yields.push_back(mapping.lookupOrDefault(value));
    return yields;
  };
  llvm::SmallVector<Value> early = cloneBody(first), yields = cloneBody(second);
  llvm::append_range(yields, early);
  b.create<ir::YieldOp>(merged.getLoc(), yields);
  unsigned numSecond = second.getNumResults();
  second->replaceAllUsesWith(merged->getResults().take_front(numSecond));
  first->replaceAllUsesWith(merged->getResults().drop_front(numSecond));
  second.erase();
  first.erase();
  return merged;
}

} // namespace tcc::codegen
