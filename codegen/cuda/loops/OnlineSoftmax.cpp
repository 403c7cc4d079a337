//===- OnlineSoftmax.cpp - maximum and sum of exponentials in one pass ----===//
//
// The maximum of a row and then the sum of exp(x - maximum) read the row twice. A row that is too long for its threads
// to keep is read once: a sum that was made with a smaller maximum is scaled (Milakov, Gimelshein: Online normalizer
// calculation for softmax, 2018).
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/loops/LoopFunction.h"
#include "codegen/schedule/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

bool isOpaque(const LoopNest &nest, AffineExpr expr) {
  return llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                      [&](unsigned i) { return expr.isFunctionOfDim(kFirstOpaqueDim + i); });
}

/// Whether two bodies over the same dimensions compute the same value at each point.
bool isSame(const LoopNest &a, Value x, const LoopNest &b, Value y) {
  if (x.getType() != y.getType())
    return false;
  if (x.getType().isIndex()) {
    AffineExpr i = a.index.lookup(x), j = b.index.lookup(y);
    return i && i == j && !isOpaque(a, i) && !isOpaque(b, j);
  }
  Operation *p = x.getDefiningOp(), *q = y.getDefiningOp();
  if (!p || !q || p->getName() != q->getName() || p->getNumRegions() > 0)
    return false;
  auto sameConditions = [&] {
    auto left = a.conditions.find(p), right = b.conditions.find(q);
    if (left == a.conditions.end() || right == b.conditions.end())
      return left == a.conditions.end() && right == b.conditions.end();
    return left->second.exprs == right->second.exprs && left->second.equal == right->second.equal &&
           llvm::none_of(left->second.exprs, [&](AffineExpr expr) { return isOpaque(a, expr); });
  };
  if (auto load = llvm::dyn_cast<ir::LoadOp>(p)) {
    auto other = llvm::cast<ir::LoadOp>(q);
    AffineExpr offset = a.offset.lookup(p);
    if (load.getTensor() != other.getTensor() || offset != b.offset.lookup(q) || isOpaque(a, offset) ||
        !sameConditions() || !load.getFill() != !other.getFill())
      return false;
    return !load.getFill() || isSame(a, load.getFill(), b, other.getFill());
  }
  if (llvm::isa<ir::InSetOp>(p))
    return sameConditions();
  if (p->getAttrDictionary() != q->getAttrDictionary() || p->getNumOperands() != q->getNumOperands() || !isPure(p))
    return false;
  return llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()),
                      [&](auto pair) { return isSame(a, std::get<0>(pair), b, std::get<1>(pair)); });
}

Value yielded(const LoopNest &nest) {
  Operation *yield = nest.op.getBody().front().getTerminator();
  return yield->getNumOperands() == 1 ? yield->getOperand(0) : Value();
}

} // namespace

bool isOnlineSoftmax(const LoopNest &most, const LoopNest &sum) {
  if (!most.isReduction() || most.extents != sum.extents || most.numParallel != sum.numParallel ||
      most.op.getNumResults() != 1 || sum.op.getNumResults() != 1 || reduceKind(most, 0) != ir::ReduceKind::Max ||
      reduceKind(sum, 0) != ir::ReduceKind::Sum)
    return false;
  Value x = yielded(most), y = yielded(sum);
  auto exponential = y ? y.getDefiningOp<math::ExpOp>() : math::ExpOp();
  auto difference = exponential ? exponential.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  auto load = difference ? difference.getRhs().getDefiningOp<ir::LoadOp>() : ir::LoadOp();
  return load && load.getTensor() == most.op.getResult(0) && !sum.conditions.count(load) &&
         sum.offset.lookup(load) == most.resultOffset[0] && isSame(most, x, sum, difference.getLhs());
}

// `before`: maximum and sum of what came before.
Values LoopFunction::addOnline(const LoopNest &most, Value x, ValueRange before) {
  Value maximum = before[0], sum = before[1];
  auto type = llvm::cast<FloatType>(x.getType());
  auto number = [&](const llvm::APFloat &value) -> Value { return b.create<arith::ConstantFloatOp>(loc, value, type); };
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  Value zero = number(llvm::APFloat::getZero(semantics)), lowest = number(llvm::APFloat::getInf(semantics, true));
  Value one = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, 1));
  // One exponential: of the new element, or of what scales the sum.
  Value difference = b.create<arith::SubFOp>(loc, x, maximum);
  Value minus = b.create<arith::NegFOp>(loc, b.create<math::AbsFOp>(loc, difference));
  Value factor = b.create<math::ExpOp>(loc, minus);
  // (Of nothing but -inf the difference is none.)
  Value isNothing = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x, lowest);
  factor = b.create<arith::SelectOp>(loc, isNothing, zero, factor);
  Value isGreater = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, difference, zero);
  Value scaled = b.create<arith::AddFOp>(loc, b.create<arith::MulFOp>(loc, sum, factor), one);
  Value added = b.create<arith::AddFOp>(loc, sum, factor);
  return {reduceCombine(b, most, 0, maximum, x), b.create<arith::SelectOp>(loc, isGreater, scaled, added)};
}

Values LoopFunction::mergeOnline(const LoopNest &most, ValueRange x, ValueRange y) {
  Value maximum = reduceCombine(b, most, 0, x[0], y[0]);
  Value one = b.create<arith::ConstantOp>(loc, b.getFloatAttr(maximum.getType(), 1));
  auto scaled = [&](ValueRange part) -> Value {
    // (Infinities are no differences.)
    Value isMost = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, part[0], maximum);
    Value factor = b.create<math::ExpOp>(loc, b.create<arith::SubFOp>(loc, part[0], maximum));
    return b.create<arith::MulFOp>(loc, part[1], b.create<arith::SelectOp>(loc, isMost, one, factor));
  };
  Value first = scaled(x);
  return {maximum, b.create<arith::AddFOp>(loc, first, scaled(y))};
}

Value LoopFunction::finishOnline(ValueRange both) {
  // A maximum that is no number makes the sum none, as exp(x - maximum) would have.
  Value none = b.create<arith::SubFOp>(loc, both[0], both[0]);
  return b.create<arith::AddFOp>(loc, both[1], none);
}

} // namespace tcc::codegen::cuda
