//===- LowerReduce.cpp - reductions as loops ------------------------------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// How the axes of an operand become the loops of a reduction: the parallel loops are the axes of the result.
struct ReductionLoops {
  ir::Exprs extents; ///< parallel loops, then reduced ones
  unsigned numReductions = 0;
  ir::Exprs at; ///< the operand's indices over them
};

ReductionLoops splitAxes(ArrayRef<AffineExpr> extents, ArrayRef<int64_t> axes, bool keepDims, MLIRContext *context) {
  ReductionLoops loops;
  loops.numReductions = axes.size();
  loops.at.resize(extents.size());
  auto add = [&](AffineExpr extent) {
    loops.extents.push_back(extent);
    return getAffineDimExpr(loops.extents.size() - 1, context);
  };
  for (int64_t i = 0; i < static_cast<int64_t>(extents.size()); ++i) {
    if (!llvm::is_contained(axes, i))
      loops.at[i] = add(extents[i]);
    else if (keepDims)
      add(getAffineConstantExpr(1, context));
  }
  for (int64_t axis : axes)
    loops.at[axis] = add(extents[axis]);
  return loops;
}

} // namespace

LoweredValues lowerReduce(ir::ReduceOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getX());
  ir::Exprs from = extentsOf(op.getX()), to = extentsOf(op.getY());
  ReductionLoops loops = splitAxes(from, op.getAxes(), op.getKeepDims(), kernel.context());
  bool isFloat = isa<FloatType>(element),
       isExtremum = op.getKind() == ir::ReduceKind::Max || op.getKind() == ir::ReduceKind::Min;
  // Combiners of loops are signed. Small unsigned integers and bool are extended; the largest unsigned type is not
  // lowered.
  Type accumulate = computeType(element);
  bool extend = isExtremum && (element.isInteger(1) || element.isUnsignedInteger());
  if (extend) {
    if (element.getIntOrFloatBitWidth() == 64)
      return failure();
    accumulate = IntegerType::get(kernel.context(), element.isInteger(1) ? 8 : 2 * element.getIntOrFloatBitWidth());
  } else if (element.isInteger(1)) {
    return failure();
  }
  if (op.getKind() == ir::ReduceKind::Mean && !isFloat)
    return failure();
  ir::ReduceKind kind = op.getKind() == ir::ReduceKind::Mean ? ir::ReduceKind::Sum : op.getKind();
  Value value = kernel.reduce(loops.extents, loops.numReductions, kind, accumulate, [&](Nest &nest) -> Value {
    Value scalar = nest.loadCompute(kernel.input(0), loops.at);
    return extend ? nest.b.create<arith::ExtUIOp>(nest.loc, accumulate, scalar) : scalar;
  });
  bool isMean = op.getKind() == ir::ReduceKind::Mean;
  if (!isMean && accumulate == signless(element))
    return lowered(value);
  AffineExpr count = kernel.constant(1);
  for (int64_t axis : op.getAxes())
    count = ir::simplifyExtent(count * from[axis]);
  return lowered(kernel.map(to, element, [&](Nest &nest) -> Value {
    Value total = nest.load(value, nest.dims());
    // The maximum of nothing is the lowest of the accumulator, which is false: not "unequal to 0".
    if (element.isInteger(1))
      return nest.b.create<arith::CmpIOp>(nest.loc, arith::CmpIPredicate::sgt, total, nest.constantOf(accumulate, 0));
    if (!isFloat)
      return nest.b.create<arith::TruncIOp>(nest.loc, signless(element), total);
    if (isMean) {
      Value number;
      if (std::optional<int64_t> constant = ir::getConstant(count)) {
        number = nest.constantOf(accumulate, static_cast<double>(*constant));
      } else {
        Value integer = nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getI64Type(), nest.apply(count));
        number = nest.b.create<arith::SIToFPOp>(nest.loc, accumulate, integer);
      }
      total = nest.b.create<arith::DivFOp>(nest.loc, total, number);
    }
    return fromCompute(nest.b, nest.loc, total, element);
  }));
}

LoweredValues lowerArgReduce(ir::ArgReduceOp op, KernelBuilder &kernel) {
  // Two passes: the extremum, then the first (or last) index that holds it. A NaN makes the extremum NaN, and is what
  // then is looked for.
  Type element = elementOf(op.getX());
  if (element.isInteger(1) || element.isUnsignedInteger())
    return failure();
  ReductionLoops loops = splitAxes(extentsOf(op.getX()), op.getAxis(), op.getKeepDims(), kernel.context());
  Type compute = computeType(element);
  Value extremum = kernel.reduce(loops.extents, 1, op.getKind(), compute,
                                 [&](Nest &nest) { return nest.loadCompute(kernel.input(0), loops.at); });
  unsigned last = loops.extents.size() - 1;
  ir::ReduceKind pick = op.getSelectLast() ? ir::ReduceKind::Max : ir::ReduceKind::Min;
  Value index = kernel.reduce(loops.extents, 1, pick, IntegerType::get(kernel.context(), 64), [&](Nest &nest) -> Value {
    Value x = nest.loadCompute(kernel.input(0), loops.at), best = nest.load(extremum, nest.dims(last));
    Value hit;
    if (isa<FloatType>(compute)) {
      Value equal = nest.b.create<arith::CmpFOp>(nest.loc, arith::CmpFPredicate::OEQ, x, best);
      Value isNan = nest.b.create<arith::CmpFOp>(nest.loc, arith::CmpFPredicate::UNO, x, x);
      hit = nest.b.create<arith::OrIOp>(nest.loc, equal, isNan);
    } else {
      hit = nest.b.create<arith::CmpIOp>(nest.loc, arith::CmpIPredicate::eq, x, best);
    }
    Value here = nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getI64Type(), nest.apply(nest.dim(last)));
    int64_t never = op.getSelectLast() ? INT64_MIN : INT64_MAX;
    Value none = nest.b.create<arith::ConstantOp>(nest.loc, nest.b.getI64IntegerAttr(never));
    return nest.b.create<arith::SelectOp>(nest.loc, hit, here, none);
  });
  return lowered(index);
}

} // namespace tcc::codegen
