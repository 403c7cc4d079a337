//===- SiblingPlace.cpp - where two kernels can stand as one --------------===//
//
// Kernels have no effects (those that report are no candidates), so that only values decide: a kernel can stand between
// the last op that makes one of its inputs and the first that reads one of its results. For the two as one, what the
// second reads must be made before anything reads what the first made. Then no path of values leads from the one to the
// other either, through whatever ops (regions count at the op that holds them): it would begin at a reader of the first
// and end at an input of the second, behind it. What the second reads of the first itself stays within the kernel. Ops
// in between are not moved, but for constants and reshapes, which cost nothing.
//
// Memory. The results of the two begin to live together, and their inputs end together. Of the first and the last place
// that are possible, that one is taken which holds less memory in between; where it holds more than before, by more
// than a part of what is read once, only for a few ops. So a reduction is merged with another from afar, and relu(x)
// with a sigmoid(x) that is the last to read x, but not two large results of which one waits half the graph for its
// reader. A result can so come to live longer three times, a kernel of siblings having at most four.
//
//===----------------------------------------------------------------------===//
#include "codegen/fusion/SiblingPlace.h"

#include <cmath>

#include "codegen/fusion/KernelInfo.h"
#include "codegen/fusion/SiblingLoops.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Ops for which memory may be held that was not before.
constexpr unsigned kNear = 16;
/// Held memory that does not count, as part of the shared bytes.
constexpr double kSmallPart = 1.0 / 8;
/// Readers of a value that are looked at; one with more is taken to be read later too.
constexpr unsigned kMostReaders = 64;

/// Reshapes and constants can go wherever what they read is.
bool isMovable(Operation *op, Block *block) {
  return op && op->getBlock() == block && (op->hasTrait<OpTrait::ConstantLike>() || isa<ir::ReshapeOp>(op));
}

/// What has to be computed before: looks through reshapes. Null for constants.
Value needed(Value value, Block *block) {
  while (isMovable(value.getDefiningOp(), block)) {
    if (value.getDefiningOp()->getNumOperands() == 0)
      return {};
    value = value.getDefiningOp()->getOperand(0);
  }
  return value;
}

void collectSymbols(AffineExpr expr, llvm::SmallDenseSet<unsigned> &symbols) {
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols.insert(symbol.getPosition());
  });
}

llvm::SmallDenseSet<unsigned> symbolsOf(ir::KernelOp kernel) {
  llvm::SmallDenseSet<unsigned> symbols;
  auto ofType = [&](Type type) {
    for (AffineExpr extent : ir::getExtents(type))
      collectSymbols(extent, symbols);
  };
  auto ofMap = [&](AffineMap map) {
    for (AffineExpr expr : map.getResults())
      collectSymbols(expr, symbols);
  };
  for (Value input : kernel.getInputs()) {
    ofType(input.getType());
    // Its symbols have the values of where it is read.
    if (auto extents = input.getDefiningOp<ir::ExtentsOp>())
      for (AffineExpr extent : extents.getValue().getExprs())
        collectSymbols(extent, symbols);
  }
  kernel.getBody().walk([&](Operation *op) {
    if (auto loops = dyn_cast<ir::LoopsOp>(op)) {
      for (AffineExpr extent : loops.getExtents().getExprs())
        collectSymbols(extent, symbols);
    } else if (auto load = dyn_cast<ir::LoadOp>(op)) {
      ofMap(load.getMap());
      if (load.getMask())
        for (AffineExpr expr : load.getMask()->getConstraints())
          collectSymbols(expr, symbols);
    } else if (auto apply = dyn_cast<ir::ApplyOp>(op)) {
      ofMap(apply.getMap());
    } else if (auto inSet = dyn_cast<ir::InSetOp>(op)) {
      for (AffineExpr expr : inSet.getSet().getConstraints())
        collectSymbols(expr, symbols);
    }
  });
  return symbols;
}

/// Whether the symbols of the second kernel have their values where the first kernel, and what the second reads, have
/// theirs: one that stands for a number of found elements has it from the op that found them.
bool knowsSymbols(ir::KernelOp first, ir::KernelOp second) {
  llvm::SmallDenseSet<unsigned> known = symbolsOf(first);
  for (Value input : second.getInputs())
    if (Value value = needed(input, second->getBlock()))
      for (AffineExpr extent : ir::getExtents(value.getType()))
        collectSymbols(extent, known);
  return llvm::all_of(symbolsOf(second), [&](unsigned symbol) { return known.contains(symbol); });
}

/// Where values live, from one place of the block to another.
class Lifetimes {
public:
  Lifetimes(ir::KernelOp first, ir::KernelOp second)
      : first(first), second(second), block(first->getBlock()), symbols(ir::getSymbols(first)) {}

  /// Bytes of inputs of `kernel` that are also inputs of the other, or not, and that nothing but these two reads at the
  /// place or after it: they live as long as the kernel is to come. Inputs and constants of the function live anyway.
  double inputs(ir::KernelOp kernel, Operation *place, bool readByBoth) const {
    ir::KernelOp other = kernel == first ? second : first;
    double bytes = 0;
    for (Value input : llvm::SmallSetVector<Value, 8>(kernel.getInputs().begin(), kernel.getInputs().end())) {
      Operation *maker = input.getDefiningOp();
      if (!maker || maker->getBlock() != block || maker->hasTrait<OpTrait::ConstantLike>() ||
          llvm::is_contained(other.getInputs(), input) != readByBoth || isReadAfter(input, place))
        continue;
      bytes += bytesOf(input.getType(), symbols).likely;
    }
    return bytes;
  }
  double results(ir::KernelOp kernel) const {
    double bytes = 0;
    for (Value result : kernel.getResults())
      bytes += bytesOf(result.getType(), symbols).likely;
    return bytes;
  }

private:
  bool isReadAfter(Value value, Operation *place) const {
    unsigned count = 0;
    for (Operation *user : value.getUsers()) {
      if (++count > kMostReaders)
        return true;
      if (user == first || user == second)
        continue;
      Operation *reader = block->findAncestorOpInBlock(*user);
      if (!reader || !reader->isBeforeInBlock(place))
        return true;
    }
    return false;
  }

  mutable ir::KernelOp first, second;
  Block *block;
  ArrayAttr symbols;
};

} // namespace

Operation *placeOfSiblings(ir::KernelOp first, ir::KernelOp second, double sharedBytes, const OpPositions &positions,
                           std::string &why) {
  Block *block = first->getBlock();
  auto no = [&](const char *reason) {
    why = reason;
    return nullptr;
  };
  // The first place is that of `first`, or behind what the second reads.
  Operation *early = first;
  for (Value input : second.getInputs()) {
    Value value = needed(input, block);
    Operation *maker = value ? value.getDefiningOp() : nullptr;
    if (maker == first && value != input)
      return no("one needs the other, through a view");
    if (maker && maker != first && maker->getBlock() == block && !maker->isBeforeInBlock(early))
      early = maker->getNextNode();
  }
  // The last is that of `second`, or before what reads the first.
  Operation *late = second;
  for (Operation *user : first->getUsers()) {
    Operation *reader = block->findAncestorOpInBlock(*user);
    if (reader != second && reader->isBeforeInBlock(late))
      late = reader;
  }
  if (late->isBeforeInBlock(early))
    return no("one is read before the other can be computed");
  if (late != second && !knowsSymbols(first, second))
    return no("extents are not known in time");
  if (early != second && !knowsSymbols(first, second))
    early = late;

  Lifetimes lifetimes(first, second);
  // Bytes times ops that memory is held longer. From the first kernel to the place what the first alone reads has to
  // wait, but its results are not there yet; from the place to the second its results wait, but what both read can be
  // gone.
  auto heldLonger = [&](Operation *place) {
    double held = 0;
    auto add = [&](Operation *from, Operation *to, double bytes) {
      double ops = positions.of(to) - positions.of(from);
      if (bytes > kSmallPart * sharedBytes)
        held += ops > kNear ? HUGE_VAL : bytes * ops;
    };
    if (place != first)
      add(first, place, lifetimes.inputs(first, place, /*readByBoth=*/false) - lifetimes.results(first));
    if (place != second)
      add(place, second, lifetimes.results(second) - lifetimes.inputs(second, place, /*readByBoth=*/true));
    return held;
  };
  double heldEarly = heldLonger(early), heldLate = heldLonger(late);
  if (std::min(heldEarly, heldLate) == HUGE_VAL)
    return no("they are far apart, and memory would be held in between");
  return heldEarly < heldLate ? early : late;
}

void moveInputs(ir::KernelOp merged) {
  // Innermost last: a reshape after what it reads.
  llvm::SmallVector<Operation *> views(1, merged);
  while (!views.empty()) {
    Operation *reader = views.pop_back_val();
    for (Value operand : reader->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!isMovable(maker, merged->getBlock()) || maker->isBeforeInBlock(reader))
        continue;
      maker->moveBefore(reader);
      views.push_back(maker);
    }
  }
}

} // namespace tcc::codegen
