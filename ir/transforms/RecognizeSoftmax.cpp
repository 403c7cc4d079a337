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

/// A reduction over one axis whose result, broadcast, is `value`.
ReduceOp matchAxisStatistic(Value value, ReduceKind kind) {
  ReduceOp reduce = findReduction(value, /*throughElementwise=*/false);
  return reduce && reduce.getKind() == kind && reduce.getAxes().size() == 1 ? reduce : nullptr;
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
