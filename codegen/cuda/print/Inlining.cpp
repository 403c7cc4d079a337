//===- Inlining.cpp -------------------------------------------------------===//
#include "codegen/cuda/print/Inlining.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

bool isElementwise(Operation *op) {
  return isa<vector::FMAOp>(op) ||
         (!isa<arith::ConstantOp>(op) && isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()));
}

bool isAlias(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !elements || elements.isSplat();
  }
  return isa<vector::SplatOp, vector::BroadcastOp, memref::CastOp, memref::DimOp, gpu::SubgroupSizeOp>(op) ||
         op->getName().getStringRef() == "ub.poison";
}

bool readsMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<memref::LoadOp, vector::LoadOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool mayWrite(Operation *op) {
  if (op->getNumRegions())
    return op
        ->walk([&](Operation *inner) {
          bool writes = inner->getNumRegions() == 0 && mayWrite(inner);
          return writes ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  return !isa<memref::LoadOp, vector::LoadOp, memref::AllocaOp>(op) && !isMemoryEffectFree(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

Inlining::Inlining(func::FuncOp function) {
  findDead(function);
  decide(function.getBody().front());
}

// Users come before what they use.
void Inlining::findDead(func::FuncOp function) {
  function.getOperation()->walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    bool used = llvm::any_of(op->getResults(), [&](Value result) { return liveUses.lookup(result) > 0; });
    if (!used && op != function && wouldOpBeTriviallyDead(op)) {
      dead.insert(op);
      return WalkResult::skip();
    }
    for (Value operand : op->getOperands())
      ++liveUses[operand];
    return WalkResult::advance();
  });
}

OpOperand *Inlining::onlyUse(Value value) const {
  if (uses(value) != 1)
    return nullptr;
  for (OpOperand &use : value.getUses()) {
    // An op in the region of a dead one is not marked itself.
    bool isLive = true;
    for (Operation *op = use.getOwner(); op && isLive; op = op->getParentOp())
      isLive = !dead.contains(op);
    if (isLive)
      return &use;
  }
  return nullptr;
}

bool Inlining::isExpression(Operation *op) const {
  // What has a name is to be seen under it.
  if (op->getNumResults() != 1 || isa<MemRefType>(op->getResult(0).getType()) || op->hasAttr("tcc.name"))
    return false;
  if (isElementwise(op) || isa<memref::LoadOp, vector::ExtractOp, vector::ExtractElementOp>(op))
    return true;
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && isChoice(branch);
}

bool Inlining::isChoice(scf::IfOp op) const {
  if (op.getNumResults() != 1 || op.getElseRegion().empty() || isa<VectorType>(op.getResult(0).getType()))
    return false;
  Region *regions[] = {&op.getThenRegion(), &op.getElseRegion()};
  return llvm::all_of(regions, [&](Region *region) {
    return llvm::all_of(region->front().without_terminator(),
                        [&](Operation &inner) { return isDead(&inner) || isAlias(&inner) || isInlined(&inner); });
  });
}

// Whether the use can take an expression instead of a name.
bool Inlining::canHold(OpOperand &use, Operation *op) const {
  Operation *user = use.getOwner();
  if (user->getBlock() != op->getBlock())
    return false;
  if (isa<VectorType>(op->getResult(0).getType()))
    return isElementwise(user) || isa<scf::YieldOp>(user);
  if (isa<vector::SplatOp, vector::BroadcastOp>(user))
    return false;
  // Not once for each element.
  return !isElementwise(user) || !isa<VectorType>(user->getResult(0).getType());
}

void Inlining::decide(Block &block) {
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::SmallVector<unsigned> nextWrite; // the first at or after each position
  for (Operation &op : block)
    position[&op] = position.size();
  nextWrite.assign(position.size() + 1, position.size());
  for (Operation &op : llvm::reverse(block)) {
    unsigned at = position.lookup(&op);
    nextWrite[at] = !isDead(&op) && mayWrite(&op) ? at : nextWrite[at + 1];
    if (isDead(&op))
      continue;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        decide(inner);
    if (!isExpression(&op))
      continue;
    OpOperand *use = onlyUse(op.getResult(0));
    if (!use || !canHold(*use, &op))
      continue;
    Operation *user = use->getOwner(), *root = user;
    if (auto it = roots.find(user); it != roots.end())
      root = it->second;
    bool isRepeated = repeated.contains(user);
    if (auto loop = dyn_cast<scf::ForOp>(user))
      isRepeated = use->get() == loop.getUpperBound() || use->get() == loop.getStep();
    // A load must not come to stand behind a write, nor into a loop.
    if (readsMemory(&op) && (isRepeated || nextWrite[at + 1] < position.lookup(root)))
      continue;
    roots[&op] = root;
    if (isRepeated)
      repeated.insert(&op);
  }
}

} // namespace tcc::codegen::cuda_print
