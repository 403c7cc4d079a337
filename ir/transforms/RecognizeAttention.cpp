//===- RecognizeAttention.cpp - matmul, softmax, matmul -> tcc.attention ---===//
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tcc::ir {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;

/// Strips multiplications and divisions by splats from `value` into `scale`.
Value stripScale(Value value, double &scale) {
  for (;;) {
    if (auto mul = value.getDefiningOp<MulOp>()) {
      if (auto splat = getSplat(mul.getB())) {
        scale *= *splat;
        value = mul.getA();
        continue;
      }
      if (auto splat = getSplat(mul.getA())) {
        scale *= *splat;
        value = mul.getB();
        continue;
      }
    } else if (auto div = value.getDefiningOp<DivOp>()) {
      if (auto splat = getSplat(div.getB()); splat && *splat != 0) {
        scale /= *splat;
        value = div.getA();
        continue;
      }
    }
    return value;
  }
}

/// select(is_nan(p), 0, p) -> p.
Value stripNanGuard(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  if (!select)
    return value;
  auto isNan = select.getCondition().getDefiningOp<IsNanOp>();
  return isNan && isNan.getX() == select.getB() && getSplat(select.getA()) == 0.0 ? select.getB() : value;
}

bool isInteriorOf(Value value, Value end) {
  // Uses of an interior value lead only to the pattern: one user, or the NaN guard's two.
  for (mlir::Operation *user : value.getUsers())
    if (!llvm::isa<SelectOp, IsNanOp>(user) && user != end.getDefiningOp() && !value.hasOneUse())
      return false;
  return true;
}

/// The mask operand as [B or 1, H or 1, S or 1, T or 1], below its broadcast.
Value maskOperand(Value mask) {
  while (auto broadcast = mask.getDefiningOp<BroadcastOp>()) {
    if (rankOf(broadcast.getX()) != 4)
      break;
    mask = broadcast.getX();
  }
  return mask;
}

struct RecognizeAttention : mlir::OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    if (rankOf(op.getA()) != 4 || !llvm::isa<mlir::FloatType>(op.getType().getElementType()))
      return mlir::failure();
    // The op wants heads.
    if (getConstant(getExtents(op.getType())[1]) == 0)
      return mlir::failure();
    Value probabilities = stripNanGuard(op.getA());
    auto softmax = probabilities.getDefiningOp<SoftmaxOp>();
    if (!softmax || softmax.getAxis() != 3 || !isInteriorOf(probabilities, op.getResult()) ||
        (op.getA() != probabilities && !op.getA().hasOneUse()))
      return mlir::failure();
    Value scores = softmax.getX();
    if (!scores.hasOneUse())
      return mlir::failure();
    double scale = 1;
    Value mask;
    auto isScores = [](Value value) {
      double ignored = 1;
      return static_cast<bool>(stripScale(value, ignored).getDefiningOp<MatmulOp>()) && value.hasOneUse();
    };
    if (auto add = scores.getDefiningOp<AddOp>()) {
      int side = isScores(add.getA()) ? 0 : isScores(add.getB()) ? 1 : -1;
      if (side < 0)
        return mlir::failure();
      mask = maskOperand(add->getOperand(1 - side));
      scores = add->getOperand(side);
      // A mask of zeros excludes nothing.
      if (getSplat(mask) == 0.0)
        mask = {};
    } else if (auto select = scores.getDefiningOp<SelectOp>()) {
      // where(mask, scores, -inf): the bool mask of the op. A finite filler weighs in when every key is excluded, so it
      // does not match.
      auto filler = getSplat(select.getB());
      if (!filler || !std::isinf(*filler) || *filler > 0 || !isScores(select.getA()))
        return mlir::failure();
      mask = maskOperand(select.getCondition());
      scores = select.getA();
    }
    auto dot = stripScale(scores, scale).getDefiningOp<MatmulOp>();
    if (!dot || !dot->hasOneUse())
      return mlir::failure();
    Value q = stripScale(dot.getA(), scale), keyTransposed = stripScale(dot.getB(), scale);
    // Below a scale the transpose may stand on either side; the op wants k as [B, H, T, D], and two transposes cancel.
    Value k =
        rewriter.createOrFold<TransposeOp>(op.getLoc(), keyTransposed, rewriter.getDenseI64ArrayAttr({0, 1, 3, 2}));
    MaskedRows maskedRows = op.getA() != probabilities ? MaskedRows::Guarded : MaskedRows::Nan;
    rewriter.replaceOpWithNewOp<AttentionOp>(op, q, k, op.getB(), mask, rewriter.getF64FloatAttr(scale),
                                             rewriter.getBoolAttr(false),
                                             MaskedRowsAttr::get(op.getContext(), maskedRows));
    return mlir::success();
  }
};

struct RecognizeAttentionPass : impl::RecognizeAttentionPassBase<RecognizeAttentionPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeAttention>(&getContext());
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("recognition of attention does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tcc::ir
