//===- Float16Range.cpp ---------------------------------------------------===//
#include "ir/transforms/Float16Range.h"

#include <cmath>

#include "ir/ElementTypes.h"
#include "ir/OpSupport.h"

namespace tcc::ir {

static bool isMovement(mlir::Operation *op) {
  return llvm::isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, ConcatOp, GatherOp, GatherElementsOp,
                   GatherNdOp>(op);
}

/// Whatever goes in, finite results are of moderate size.
static bool isBounded(mlir::Operation *op) {
  return llvm::isa<SoftmaxOp, SigmoidOp, TanhOp, ErfOp, AtanOp, Atan2Op, AsinhOp, LogOp, Log1pOp, SinOp, CosOp, AsinOp,
                   AcosOp, SignOp, LayerNormOp, RmsNormOp>(op);
}

Float16Range::Range Float16Range::rangeOfConstant(mlir::Operation *op) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(llvm::cast<ConstantOp>(op).getValue());
  if (!elements || !elements.getElementType().isF32())
    return {};
  // What rounds to more than the largest; what is less than the least normal number.
  constexpr float beyond = 65520, normal = 0x1p-14F;
  Range range;
  float largest = 0;
  auto add = [&](float x) {
    if (!std::isfinite(x))
      return;
    range.below |= x <= -beyond;
    range.above |= x >= beyond;
    largest = std::max(largest, std::abs(x));
  };
  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(elements); dense && dense.isSplat()) {
    add(dense.getSplatValue<float>());
  } else {
    auto tensor = toTensor(elements);
    if (!tensor.ok() || tensor->dtype() != DType::kF32 || !tensor->is_contiguous())
      return {};
    for (float x : llvm::ArrayRef(tensor->data_as<float>(), tensor->num_elements()))
      add(x);
  }
  range.tiny = largest > 0 && largest < normal;
  return range;
}

void Float16Range::visit(mlir::Operation *op) {
  const Range range = llvm::isa<ConstantOp>(op) ? rangeOfConstant(op) : rangeOfResult(op);
  if (range.below || range.above || range.tiny || range.guarded)
    for (mlir::Value result : op->getResults())
      ranges[result] = range;
}

Float16Range::Range Float16Range::rangeOfResult(mlir::Operation *op) const {
  Range any, all{true, true, true, true};
  for (mlir::Value operand : op->getOperands()) {
    const Range x = rangeOf(operand);
    any = {any.below || x.below, any.above || x.above, any.tiny || x.tiny, any.guarded || x.guarded};
    all = {all.below && x.below, all.above && x.above, all.tiny && x.tiny, all.guarded && x.guarded};
  }
  if (isMovement(op))
    return any;
  const bool either = any.below || any.above;
  if (llvm::isa<AddOp>(op))
    return {any.below, any.above, false, any.tiny};
  if (llvm::isa<SelectOp>(op))
    return {any.below, any.above, false, any.guarded};
  if (llvm::isa<MaxOp>(op))
    return {all.below, any.above, false, any.tiny};
  if (llvm::isa<MinOp>(op))
    return {any.below, all.above, false, any.guarded};
  if (auto sub = llvm::dyn_cast<SubOp>(op)) {
    const Range lhs = rangeOf(sub.getA()), rhs = rangeOf(sub.getB());
    return {lhs.below || rhs.above, lhs.above || rhs.below, false, false};
  }
  if (llvm::isa<NegOp>(op))
    return {any.above, any.below, any.tiny, any.guarded};
  if (llvm::isa<AbsOp, SqrtOp>(op))
    return {false, either, any.tiny, any.guarded};
  if (llvm::isa<ExpOp>(op))
    return {false, any.above, false, false};
  if (auto attention = llvm::dyn_cast<AttentionOp>(op))
    return rangeOf(attention.getV()); // a mean of its rows
  if (isBounded(op))
    return {};
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op);
      reduce &&
      llvm::is_contained({ReduceKind::Max, ReduceKind::Min, ReduceKind::Mean, ReduceKind::Sum}, reduce.getKind()))
    return {any.below, any.above, false, any.guarded};
  return {either, either, false, llvm::isa<PowOp>(op) && any.guarded};
}

bool Float16Range::needsFloat32(mlir::Operation *op) const {
  // Float32 masks are taken as they are.
  if (auto attention = llvm::dyn_cast<AttentionOp>(op))
    return isLarge(attention.getQ()) || isLarge(attention.getK()) || isLarge(attention.getV());
  bool tiny = false, guarded = false;
  for (mlir::Value operand : op->getOperands()) {
    const Range x = rangeOf(operand);
    // A limit beyond all numbers of float16 limits as well where it is the largest of these.
    const bool limits = llvm::isa<MaxOp, MinOp>(op) && !isLarge(op->getResult(0));
    if ((x.below || x.above) && !limits)
      return true;
    tiny |= x.tiny;
    guarded |= x.guarded;
  }
  if (isMovement(op) || llvm::isa<SelectOp>(op))
    return false;
  return tiny || (guarded && llvm::isa<DivOp, ReciprocalOp, RsqrtOp, SqrtOp, LogOp, PowOp>(op));
}

} // namespace tcc::ir
