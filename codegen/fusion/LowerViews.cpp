//===- LowerViews.cpp - ops that only move elements -----------------------===//
#include "codegen/fusion/Lowering.h"
#include "codegen/fusion/Passes.h"
#include "codegen/fusion/ScalarOps.h"

using namespace mlir;

namespace tcc::codegen {

LoweredValues lowerBroadcast(ir::BroadcastOp op, KernelBuilder &kernel) {
  ir::Exprs from = extentsOf(op.getX()), to = extentsOf(op.getY());
  return lowered(kernel.map(to, elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at;
    for (auto [i, extent] : llvm::enumerate(from)) {
      unsigned axis = i + to.size() - from.size();
      at.push_back(extent == to[axis] ? nest.dim(axis) : nest.constant(0));
    }
    return nest.load(kernel.input(0), at);
  }));
}

LoweredValues lowerTranspose(ir::TransposeOp op, KernelBuilder &kernel) {
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at(op.getPermutation().size());
    for (auto [axis, source] : llvm::enumerate(op.getPermutation()))
      at[source] = nest.dim(axis);
    return nest.load(kernel.input(0), at);
  }));
}

ir::Exprs reshapeIndices(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to, ArrayRef<AffineExpr> index) {
  ir::Exprs result;
  if (from.empty())
    return result;
  MLIRContext *context = from.front().getContext();
  AffineExpr one = getAffineConstantExpr(1, context), zero = getAffineConstantExpr(0, context);
  size_t i = 0, j = 0;
  while (i < from.size()) {
    // The shortest run of axes on both sides with the same number of elements.
    size_t beginFrom = i, beginTo = j;
    AffineExpr sizeFrom = from[i++], sizeTo = one;
    if (j < to.size())
      sizeTo = to[j++];
    auto matched = [&] { return sizeFrom == sizeTo; };
    while (!matched()) {
      std::optional<int64_t> a = ir::getConstant(sizeFrom), b = ir::getConstant(sizeTo);
      bool growTo = a && b ? *b < *a : j - beginTo <= i - beginFrom;
      if (growTo && j < to.size())
        sizeTo = ir::simplifyExtent(sizeTo * to[j++]);
      else if (i < from.size())
        sizeFrom = ir::simplifyExtent(sizeFrom * from[i++]);
      else if (j < to.size())
        sizeTo = ir::simplifyExtent(sizeTo * to[j++]);
      else
        break; // equal as the types say, though not in form: one run
    }
    // Trailing axes of one element, when this is the last run.
    if (i == from.size())
      j = to.size();
    AffineExpr linear = zero;
    for (size_t k = beginTo; k < j; ++k)
      linear = linear * to[k] + index[k];
    size_t first = result.size();
    for (size_t k = i; k-- > beginFrom;) {
      bool last = k == beginFrom;
      result.push_back(last ? linear : linear % from[k]);
      linear = linear.floorDiv(from[k]);
    }
    std::reverse(result.begin() + first, result.end());
  }
  return result;
}

LoweredValues lowerReshape(ir::ReshapeOp op, KernelBuilder &kernel) {
  ir::Exprs from = extentsOf(op.getX()), to = extentsOf(op.getY());
  // An extent of 0 would be divided by; nothing is read then.
  for (AffineExpr extent : from)
    if (ir::getConstant(extent) == 0)
      return failure();
  return lowered(kernel.map(to, elementOf(op.getY()), [&](Nest &nest) {
    return nest.load(kernel.input(0), reshapeIndices(from, to, nest.dims()));
  }));
}

LoweredValues lowerSlice(ir::SliceOp op, KernelBuilder &kernel) {
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at;
    for (auto [axis, start] : llvm::enumerate(op.getStarts().getExprs()))
      at.push_back(nest.dim(axis) * op.getSteps()[axis] + start);
    return nest.load(kernel.input(0), at);
  }));
}

LoweredValues lowerPad(ir::PadOp op, KernelBuilder &kernel) {
  ir::Exprs from = extentsOf(op.getX());
  auto low = op.getLow().getExprs(), high = op.getHigh().getExprs();
  ArrayAttr symbols = ir::getSymbols(op);
  auto atMost = [&](AffineExpr x, AffineExpr y) {
    return ir::getValueRange(ir::simplifyExtent(y - x), symbols).first >= 0;
  };
  // What is cropped is gone before the rest repeats: [first, first + kept) does.
  ir::Exprs first(from.size(), kernel.constant(0)), kept = from;
  if (op.getMode() == ir::PadMode::Wrap)
    for (size_t axis = 0; axis < from.size(); ++axis)
      for (bool isLow : {true, false}) {
        AffineExpr width = isLow ? low[axis] : high[axis];
        auto [least, most] = ir::getValueRange(ir::simplifyExtent(width), symbols);
        if (least >= 0)
          continue;
        if (most > 0)
          return failure(); // it crops or pads: the library kernel knows
        kept[axis] = ir::simplifyExtent(kept[axis] + width);
        if (isLow)
          first[axis] = -width;
      }
  // An axis that may have no elements has nothing to repeat: the library kernel tells.
  for (auto [axis, extent] : llvm::enumerate(kept))
    if (op.getMode() != ir::PadMode::Constant && ir::getValueRange(extent, symbols).first <= 0 &&
        !(ir::getConstant(low[axis]) == 0 && ir::getConstant(high[axis]) == 0))
      return failure();
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at, mask;
    llvm::SmallVector<Value> extra;
    for (auto [axis, extent] : llvm::enumerate(from)) {
      AffineExpr index = nest.dim(axis) - low[axis], last = extent - 1;
      std::optional<int64_t> lowWidth = ir::getConstant(low[axis]), highWidth = ir::getConstant(high[axis]);
      bool padsLow = !lowWidth || *lowWidth > 0, padsHigh = !highWidth || *highWidth > 0;
      if (op.getMode() == ir::PadMode::Constant) {
        if (padsLow)
          mask.push_back(index);
        if (padsHigh)
          mask.push_back(last - index);
      } else if (op.getMode() == ir::PadMode::Wrap) {
        index = (padsLow || padsHigh) ? first[axis] + (index - first[axis]) % kept[axis] : index;
      } else if (padsLow || padsHigh) {
        // Reflection and clamping are no affine functions: index arithmetic, and the result is one more dimension.
        Value value = nest.apply(index), end = nest.apply(last);
        Value zero = nest.b.create<arith::ConstantIndexOp>(nest.loc, 0);
        if (op.getMode() == ir::PadMode::Reflect) {
          Value below = nest.b.create<arith::CmpIOp>(nest.loc, arith::CmpIPredicate::slt, value, zero);
          Value above = nest.b.create<arith::CmpIOp>(nest.loc, arith::CmpIPredicate::sgt, value, end);
          Value fromLow = nest.b.create<arith::SubIOp>(nest.loc, zero, value);
          Value twice = nest.b.create<arith::AddIOp>(nest.loc, end, end);
          Value fromHigh = nest.b.create<arith::SubIOp>(nest.loc, twice, value);
          value = nest.b.create<arith::SelectOp>(nest.loc, below, fromLow,
                                                 nest.b.create<arith::SelectOp>(nest.loc, above, fromHigh, value));
          // Only the run can tell whether the axis is as wide as its reflection.
          if (!atMost(low[axis], last) || !atMost(high[axis], last))
            value =
                nest.b.create<ir::BoundsCheckOp>(nest.loc, nest.b.getIndexType(), value,
                                                 ir::ExtentsAttr::get(op.getContext(), extent), nest.b.getUnitAttr(),
                                                 /*when=*/Value());
        } else {
          value = nest.b.create<arith::MinSIOp>(nest.loc, nest.b.create<arith::MaxSIOp>(nest.loc, value, zero), end);
        }
        index = nest.dim(from.size() + extra.size());
        extra.push_back(value);
      }
      at.push_back(index);
    }
    Value fill;
    if (op.getFill() && !mask.empty())
      fill = nest.load(kernel.input(1), ir::Exprs(extentsOf(op.getFill()).size(), nest.constant(0)));
    return nest.load(kernel.input(0), at, mask, fill, extra);
  }));
}

LoweredValues lowerConcat(ir::ConcatOp op, KernelBuilder &kernel) {
  if (op.getXs().size() > kMostConcatOperands)
    return failure();
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    AffineExpr begin = nest.constant(0), index = nest.dim(op.getAxis());
    llvm::SmallVector<Value> parts;
    ir::Exprs ends;
    for (auto [i, x] : llvm::enumerate(op.getXs())) {
      AffineExpr extent = extentsOf(x)[op.getAxis()];
      ir::Exprs at = nest.dims(), mask;
      at[op.getAxis()] = index - begin;
      if (i > 0)
        mask.push_back(index - begin);
      if (i + 1 < op.getXs().size())
        mask.push_back(begin + extent - 1 - index);
      parts.push_back(nest.load(kernel.input(i), at, mask));
      begin = ir::simplifyExtent(begin + extent);
      ends.push_back(begin);
    }
    Value value = parts.back();
    for (size_t i = parts.size() - 1; i-- > 0;)
      value = nest.b.create<arith::SelectOp>(nest.loc, nest.inSet(ends[i] - 1 - index), parts[i], value);
    return value;
  }));
}

LoweredValues lowerIota(ir::IotaOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getY());
  if (element.isInteger(1))
    return failure();
  return lowered(kernel.map(extentsOf(op.getY()), element, [&](Nest &nest) -> Value {
    Value index = nest.apply(nest.dim(op.getAxis()));
    if (!isa<FloatType>(element))
      return nest.b.create<arith::IndexCastOp>(nest.loc, signless(element), index);
    Value integer = nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getI64Type(), index);
    return emitScalarCast(nest.b, nest.loc, integer, integer.getType(), element);
  }));
}

} // namespace tcc::codegen
