//===- RecognizeSoftmax.cpp - exp(x - max) / sum -> tcc.softmax ------------===//
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tcc::ir {
#define GEN_PASS_DEF_RECOGNIZESOFTMAXPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::Value;

/// A reduction over one axis whose result, broadcast, is `value`: each other axis back in its place.
ReduceOp matchAxisStatistic(Value value, ReduceKind kind) {
  llvm::SmallVector<int64_t> outer;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    outer.push_back(axis);
  while (Operation *op = value.getDefiningOp()) {
    if (auto broadcast = llvm::dyn_cast<BroadcastOp>(op)) {
      outer.erase(outer.begin(), outer.begin() + (rankOf(value) - rankOf(broadcast.getX())));
      value = broadcast.getX();
    } else if (auto reshape = llvm::dyn_cast<ReshapeOp>(op)) {
      if (!mapThroughUnitReshape(reshape, outer))
        return nullptr;
      value = reshape.getX();
    } else {
      auto reduce = llvm::dyn_cast<ReduceOp>(op);
      if (!reduce || reduce.getKind() != kind || reduce.getAxes().size() != 1)
        return nullptr;
      int64_t result = 0;
      for (int64_t axis = 0; axis < rankOf(reduce.getX()); ++axis) {
        bool reduced = axis == reduce.getAxes().front();
        if (!reduced && getConstant(getExtent(reduce.getX().getType(), axis)) != 1 && outer[result] != axis)
          return nullptr;
        result += reduced && !reduce.getKeepDims() ? 0 : 1;
      }
      return reduce;
    }
  }
  return nullptr;
}

/// The operand of a softmax whose numerator is `numerator`: exp(x - max(x)) over the axis. exp(x) alone is no match: it
/// overflows where softmax does not.
Value matchShifted(Value numerator, int64_t axis) {
  auto exp = numerator.getDefiningOp<ExpOp>();
  auto sub = exp ? exp.getX().getDefiningOp<SubOp>() : nullptr;
  ReduceOp largest = sub ? matchAxisStatistic(sub.getB(), ReduceKind::Max) : nullptr;
  return largest && largest.getX() == sub.getA() && largest.getAxes().front() == axis ? sub.getA() : Value();
}

struct RecognizeSoftmax : mlir::OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<mlir::FloatType>(op.getType().getElementType()))
      return failure();
    ReduceOp sum = matchAxisStatistic(op.getB(), ReduceKind::Sum);
    if (!sum || sum.getX() != op.getA())
      return failure();
    int64_t axis = sum.getAxes().front();
    Value x = matchShifted(op.getA(), axis);
    if (!x || x.getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, x, rewriter.getI64IntegerAttr(axis));
    return mlir::success();
  }
};

struct RecognizeSoftmaxPass : impl::RecognizeSoftmaxPassBase<RecognizeSoftmaxPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeSoftmax>(&getContext());
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("recognition of softmax does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tcc::ir
