//===- SimplifyKernel.cpp - index arithmetic, constants, dead code --------===//
#include "codegen/fusion/IndexSimplify.h"
#include "codegen/fusion/KernelBuilder.h"
#include "codegen/fusion/KernelRewrite.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace tcc::codegen {

AffineExpr extentOfIndex(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index))
    if (auto loops = dyn_cast<ir::LoopsOp>(argument.getOwner()->getParentOp()))
      return loops.getExtents().getExprs()[argument.getArgNumber()];
  if (auto check = index.getDefiningOp<ir::BoundsCheckOp>())
    return check.getExtent().getExprs().front();
  return {};
}

namespace {

/// An index or integer that is known, as an index.
std::optional<int64_t> constantIndex(Value value) {
  bool isUnsigned = false;
  if (Operation *cast = value.getDefiningOp(); isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(cast)) {
    isUnsigned = isa<arith::IndexCastUIOp>(cast);
    value = cast->getOperand(0);
  }
  llvm::APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || constant.getBitWidth() > 64)
    return std::nullopt;
  return isUnsigned ? static_cast<int64_t>(constant.getZExtValue()) : constant.getSExtValue();
}

/// Index operands with index arithmetic composed in, each once; expressions over the old operands are rewritten by
/// `map`.
struct IndexOperands {
  llvm::SmallVector<Value> values;
  llvm::SmallVector<AffineExpr> replacement; ///< for each old operand

  IndexOperands(ValueRange old, MLIRContext *context) {
    for (Value operand : old)
      replacement.push_back(express(operand, context));
  }
  AffineExpr express(Value operand, MLIRContext *context) {
    if (auto apply = operand.getDefiningOp<ir::ApplyOp>()) {
      llvm::SmallVector<AffineExpr> inner;
      for (Value value : apply.getIndices())
        inner.push_back(express(value, context));
      return apply.getMap().getResult(0).replaceDims(inner);
    }
    if (std::optional<int64_t> constant = constantIndex(operand))
      return getAffineConstantExpr(*constant, context);
    auto it = llvm::find(values, operand);
    unsigned position = it - values.begin();
    if (it == values.end())
      values.push_back(operand);
    return getAffineDimExpr(position, context);
  }
  IndexRanges ranges(ArrayAttr symbols) const {
    llvm::SmallVector<AffineExpr> extents;
    for (Value value : values)
      extents.push_back(extentOfIndex(value));
    return IndexRanges(extents, symbols);
  }
  /// Drops operands that none of the expressions uses.
  void compact(llvm::MutableArrayRef<AffineExpr> exprs, MLIRContext *context) {
    llvm::SmallVector<bool> used(values.size(), false);
    for (AffineExpr expr : exprs)
      expr.walk([&](AffineExpr part) {
        if (auto dim = dyn_cast<AffineDimExpr>(part))
          used[dim.getPosition()] = true;
      });
    // Loops first, outermost first: equal accesses look equal.
    llvm::SmallVector<unsigned> order;
    for (unsigned i = 0; i < values.size(); ++i)
      if (used[i])
        order.push_back(i);
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      auto key = [&](unsigned i) {
        auto argument = dyn_cast<BlockArgument>(values[i]);
        return argument ? argument.getArgNumber() : UINT_MAX;
      };
      return key(a) < key(b);
    });
    llvm::SmallVector<AffineExpr> renumbered(values.size(), getAffineConstantExpr(0, context));
    llvm::SmallVector<Value> kept;
    for (unsigned i : order) {
      renumbered[i] = getAffineDimExpr(kept.size(), context);
      kept.push_back(values[i]);
    }
    for (AffineExpr &expr : exprs)
      expr = expr.replaceDims(renumbered);
    values = kept;
  }
};

class Simplifier {
public:
  explicit Simplifier(ir::KernelOp kernel)
      : kernel(kernel), context(kernel.getContext()), symbols(ir::getSymbols(kernel)) {}

  void run() {
    llvm::SmallVector<Operation *> ops;
    kernel.getBody().walk([&](Operation *op) {
      if (isa<ir::LoadOp, ir::ApplyOp, ir::InSetOp, ir::BoundsCheckOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op)
          .Case<ir::LoadOp>([&](auto o) { simplifyLoad(o); })
          .Case<ir::ApplyOp>([&](auto o) { simplifyApply(o); })
          .Case<ir::InSetOp>([&](auto o) { simplifyInSet(o); })
          .Case<ir::BoundsCheckOp>([&](auto o) { simplifyCheck(o); });
  }

private:
  unsigned numSymbols() { return symbols.size(); }

  void simplifyLoad(ir::LoadOp load) {
    OpBuilder b(load);
    IndexOperands operands(load.getIndices(), context);
    IndexRanges ranges = operands.ranges(symbols);
    IntegerSet set;
    if (IntegerSetAttr mask = load.getMaskAttr()) {
      std::optional<IntegerSet> simplified = ranges.simplify(mask.getValue().replaceDimsAndSymbols(
          operands.replacement, identitySymbols(), operands.values.size(), numSymbols()));
      if (!simplified) {
        Value fill = load.getFill()
                         ? load.getFill()
                         : b.create<arith::ConstantOp>(load.getLoc(), b.getZeroAttr(load.getType())).getResult();
        load.replaceAllUsesWith(fill);
        load.erase();
        return;
      }
      if (!holdsAlways(*simplified))
        set = *simplified;
    }
    if (Value constant = loadedConstant(load, b)) {
      if (set) {
        Value inside = b.create<ir::InSetOp>(load.getLoc(), b.getI1Type(), operands.values, IntegerSetAttr::get(set));
        Value fill = load.getFill()
                         ? load.getFill()
                         : b.create<arith::ConstantOp>(load.getLoc(), b.getZeroAttr(load.getType())).getResult();
        constant = b.create<arith::SelectOp>(load.getLoc(), inside, constant, fill);
      }
      load.replaceAllUsesWith(constant);
      load.erase();
      return;
    }
    llvm::SmallVector<AffineExpr> exprs;
    ir::Exprs extents = ir::getExtents(load.getTensor().getType());
    for (auto [expr, extent] : llvm::zip_equal(load.getMap().getResults(), extents)) {
      // An axis of one element has only index 0 (a masked load may name others, and then does not read).
      bool single = ir::getConstant(extent) == 1;
      exprs.push_back(single ? getAffineConstantExpr(0, context)
                             : ranges.simplify(expr.replaceDims(operands.replacement)));
    }
    unsigned numIndices = exprs.size();
    llvm::SmallVector<bool> equalities;
    if (set) {
      llvm::append_range(exprs, set.getConstraints());
      equalities.assign(set.getEqFlags().begin(), set.getEqFlags().end());
    }
    operands.compact(exprs, context);
    auto map = AffineMap::get(operands.values.size(), numSymbols(), ArrayRef(exprs).take_front(numIndices), context);
    IntegerSetAttr mask;
    if (set)
      mask = IntegerSetAttr::get(
          IntegerSet::get(operands.values.size(), numSymbols(), ArrayRef(exprs).drop_front(numIndices), equalities));
    auto next = b.create<ir::LoadOp>(load.getLoc(), load.getType(), load.getTensor(), operands.values,
                                     set ? load.getFill() : Value(), AffineMapAttr::get(map), mask);
    load.replaceAllUsesWith(next.getResult());
    load.erase();
  }

  void simplifyApply(ir::ApplyOp apply) {
    OpBuilder b(apply);
    IndexOperands operands(apply.getIndices(), context);
    llvm::SmallVector<AffineExpr> exprs = {
        operands.ranges(symbols).simplify(apply.getMap().getResult(0).replaceDims(operands.replacement))};
    operands.compact(exprs, context);
    Value next;
    if (auto dim = dyn_cast<AffineDimExpr>(exprs[0]))
      next = operands.values[dim.getPosition()];
    else if (auto constant = dyn_cast<AffineConstantExpr>(exprs[0]))
      next = b.create<arith::ConstantIndexOp>(apply.getLoc(), constant.getValue());
    else
      next = b.create<ir::ApplyOp>(
          apply.getLoc(), b.getIndexType(), operands.values,
          AffineMapAttr::get(AffineMap::get(operands.values.size(), numSymbols(), exprs, context)));
    apply.replaceAllUsesWith(next);
    apply.erase();
  }

  void simplifyInSet(ir::InSetOp test) {
    OpBuilder b(test);
    IndexOperands operands(test.getIndices(), context);
    std::optional<IntegerSet> set = operands.ranges(symbols).simplify(test.getSet().replaceDimsAndSymbols(
        operands.replacement, identitySymbols(), operands.values.size(), numSymbols()));
    Value next;
    if (!set || holdsAlways(*set)) {
      next = b.create<arith::ConstantOp>(test.getLoc(), b.getBoolAttr(set.has_value()));
    } else {
      llvm::SmallVector<AffineExpr> exprs(set->getConstraints());
      operands.compact(exprs, context);
      next = b.create<ir::InSetOp>(
          test.getLoc(), b.getI1Type(), operands.values,
          IntegerSetAttr::get(IntegerSet::get(operands.values.size(), numSymbols(), exprs, set->getEqFlags())));
    }
    test.replaceAllUsesWith(next);
    test.erase();
  }

  /// A check of what is known to be in range is its index. Other checks stay, whatever becomes of their value.
  void simplifyCheck(ir::BoundsCheckOp check) {
    llvm::APInt when;
    bool isKnown = check.getWhen() && matchPattern(check.getWhen(), m_ConstantInt(&when));
    if (isKnown && !when.isZero())
      check.getWhenMutable().clear();
    OpBuilder b(check);
    IndexOperands operands(check.getIndex(), context);
    AffineExpr extent = check.getExtent().getExprs().front(), index = operands.replacement[0];
    if (auto constant = dyn_cast<AffineConstantExpr>(index); constant && constant.getValue() < 0 && !check.getExact())
      index = index + extent;
    if (!operands.ranges(symbols).isWithin(index, extent)) {
      if (isKnown && when.isZero() && check.use_empty())
        check.erase();
      return;
    }
    auto map = AffineMap::get(operands.values.size(), numSymbols(), {index}, context);
    auto apply = b.create<ir::ApplyOp>(check.getLoc(), b.getIndexType(), operands.values, AffineMapAttr::get(map));
    check.replaceAllUsesWith(apply.getResult());
    check.erase();
    simplifyApply(apply);
  }

  static bool holdsAlways(IntegerSet set) {
    return set.getNumConstraints() == 1 && set.isEq(0) &&
           set.getConstraint(0) == getAffineConstantExpr(0, set.getContext());
  }
  llvm::SmallVector<AffineExpr> identitySymbols() {
    llvm::SmallVector<AffineExpr> result;
    for (unsigned i = 0; i < symbols.size(); ++i)
      result.push_back(getAffineSymbolExpr(i, context));
    return result;
  }

  /// The scalar if the tensor is a constant of one value.
  Value loadedConstant(ir::LoadOp load, OpBuilder &b) {
    auto argument = dyn_cast<BlockArgument>(load.getTensor());
    if (!argument)
      return {};
    auto constant = kernel.getInputs()[argument.getArgNumber()].getDefiningOp<ir::ConstantOp>();
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    if (!elements || !elements.isSplat())
      return {};
    Type type = load.getType();
    if (isa<FloatType>(type))
      return b.create<arith::ConstantOp>(load.getLoc(), FloatAttr::get(type, elements.getSplatValue<APFloat>()));
    return b.create<arith::ConstantOp>(load.getLoc(), IntegerAttr::get(type, elements.getSplatValue<APInt>()));
  }

  ir::KernelOp kernel;
  MLIRContext *context;
  ArrayAttr symbols;
};

/// select of equal or known operands, which inlining leaves behind.
void foldSelects(ir::KernelOp kernel) {
  llvm::SmallVector<arith::SelectOp> selects;
  kernel.getBody().walk([&](arith::SelectOp select) { selects.push_back(select); });
  for (arith::SelectOp select : selects) {
    llvm::APInt condition;
    Value value;
    if (select.getTrueValue() == select.getFalseValue())
      value = select.getTrueValue();
    else if (matchPattern(select.getCondition(), m_ConstantInt(&condition)))
      value = condition.isZero() ? select.getFalseValue() : select.getTrueValue();
    if (!value)
      continue;
    select.replaceAllUsesWith(value);
    select.erase();
  }
}

/// The float32 that a value of 16 bits was before it was stored, where fusion left nothing to store.
Value beforeRounding(OpBuilder &b, Value half, Type wide) {
  if (auto truncation = half.getDefiningOp<arith::TruncFOp>())
    return truncation.getIn().getType() == wide && !isAskedFor(truncation) ? truncation.getIn() : Value();
  auto select = half.getDefiningOp<arith::SelectOp>();
  if (!select)
    return {};
  Value yes = beforeRounding(b, select.getTrueValue(), wide), no = beforeRounding(b, select.getFalseValue(), wide);
  if (!yes && !no)
    return {};
  if (!yes)
    yes = b.create<arith::ExtFOp>(select.getLoc(), wide, select.getTrueValue());
  if (!no)
    no = b.create<arith::ExtFOp>(select.getLoc(), wide, select.getFalseValue());
  return b.create<arith::SelectOp>(select.getLoc(), select.getCondition(), yes, no);
}

void dropRounding(ir::KernelOp kernel) {
  llvm::SmallVector<arith::ExtFOp> widenings;
  kernel.getBody().walk([&](arith::ExtFOp op) { widenings.push_back(op); });
  for (arith::ExtFOp op : widenings) {
    if (!isHalf(op.getIn().getType()))
      continue; // float32 is not a way to store what is computed in float64
    OpBuilder b(op);
    if (Value value = beforeRounding(b, op.getIn(), op.getType())) {
      op.replaceAllUsesWith(value);
      op.erase();
    }
  }
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() && !isa<ir::BoundsCheckOp>(op)) {
      op.erase();
      continue;
    }
    if (auto loops = dyn_cast<ir::LoopsOp>(op))
      eraseDead(loops.getBody().front());
  }
}

/// Equal checks as one, which the generic elimination does not do to ops with effects. Whether there were any.
bool mergeChecks(ir::KernelOp kernel) {
  bool changed = false;
  for (auto loops : kernel.getBody().front().getOps<ir::LoopsOp>()) {
    llvm::DenseMap<std::tuple<Value, Attribute, unsigned, Value>, ir::BoundsCheckOp> seen;
    for (auto check : llvm::make_early_inc_range(loops.getBody().front().getOps<ir::BoundsCheckOp>())) {
      auto [it, isNew] =
          seen.try_emplace({check.getIndex(), check.getExtentAttr(), check.getExact(), check.getWhen()}, check);
      if (isNew)
        continue;
      check.replaceAllUsesWith(it->second.getResult());
      check.erase();
      changed = true;
    }
  }
  return changed;
}

/// Results of loops that nothing reads.
void dropUnusedResults(ir::LoopsOp loops) {
  llvm::SmallVector<unsigned> used;
  for (OpResult result : loops->getResults())
    if (!result.use_empty())
      used.push_back(result.getResultNumber());
  if (used.size() == loops.getNumResults())
    return;
  OpBuilder b(loops);
  llvm::SmallVector<Type> types;
  llvm::SmallVector<Attribute> kinds;
  llvm::SmallVector<Value> yields;
  auto yield = cast<ir::YieldOp>(loops.getBody().front().getTerminator());
  for (unsigned i : used) {
    types.push_back(loops.getResult(i).getType());
    yields.push_back(yield->getOperand(i));
    if (!loops.getKinds().empty())
      kinds.push_back(loops.getKinds()[i]);
  }
  auto next =
      b.create<ir::LoopsOp>(loops.getLoc(), types, loops.getExtents(), loops.getNumReductions(), b.getArrayAttr(kinds));
  next.getBody().takeBody(loops.getBody());
  yield->setOperands(yields);
  for (auto [result, i] : llvm::zip_equal(next->getResults(), used))
    loops.getResult(i).replaceAllUsesWith(result);
  loops.erase();
}

ir::KernelOp dropUnusedInputs(ir::KernelOp kernel) {
  llvm::BitVector unused(kernel.getInputs().size());
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  if (unused.none())
    return kernel;
  kernel.getBody().front().eraseArguments(unused);
  kernel->eraseOperands(unused);
  return kernel;
}

} // namespace

ir::KernelOp simplifyKernel(ir::KernelOp kernel) {
  Simplifier(kernel).run();
  foldSelects(kernel);
  dropRounding(kernel);
  Block &block = kernel.getBody().front();
  eraseDead(block);
  {
    IRRewriter rewriter(kernel.getContext());
    DominanceInfo dominance(kernel);
    do {
      eliminateCommonSubExpressions(rewriter, dominance, kernel);
    } while (mergeChecks(kernel));
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loops = dyn_cast<ir::LoopsOp>(op))
      dropUnusedResults(loops);
  eraseDead(block);
  return dropUnusedInputs(kernel);
}

} // namespace tcc::codegen
