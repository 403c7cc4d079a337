//===- RecognizeNormalization.cpp - decomposed rms_norm and layer_norm -----===//
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tcc::ir {
#define GEN_PASS_DEF_RECOGNIZENORMALIZATIONPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::Value;

/// The mean of a value over its trailing axes.
struct TrailingMean {
  Value of;
  int64_t axis;
};

/// Matches `value` (through broadcasts) as reduce mean, or reduce sum times 1 / count, over trailing axes.
std::optional<TrailingMean> matchMean(Value value) {
  value = skipBroadcasts(value);
  double factor = 1;
  if (auto mul = value.getDefiningOp<MulOp>()) {
    for (int side : {0, 1})
      if (auto splat = getSplat(mul->getOperand(side))) {
        factor = *splat;
        value = skipBroadcasts(mul->getOperand(1 - side));
        break;
      }
  } else if (auto div = value.getDefiningOp<DivOp>()) {
    if (auto splat = getSplat(div.getB())) {
      factor = 1 / *splat;
      value = skipBroadcasts(div.getA());
    }
  }
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getAxes().empty())
    return std::nullopt;
  int64_t rank = rankOf(reduce.getX()), axis = reduce.getAxes().front();
  if (static_cast<int64_t>(reduce.getAxes().size()) != rank - axis) // sorted and distinct: these are the trailing ones
    return std::nullopt;
  if (reduce.getKind() == ReduceKind::Mean)
    return factor == 1 ? std::optional(TrailingMean{reduce.getX(), axis}) : std::nullopt;
  if (reduce.getKind() != ReduceKind::Sum)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t k = axis; k < rank; ++k) {
    auto extent = getConstant(getExtent(reduce.getX().getType(), k));
    if (!extent)
      return std::nullopt;
    count *= *extent;
  }
  // 1 / count as the model's own precision has it.
  if (count == 0 || std::abs(factor * static_cast<double>(count) - 1) > 1e-6)
    return std::nullopt;
  return TrailingMean{reduce.getX(), axis};
}

/// The operand of a square (x * x, or x to the 2).
Value matchSquare(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>())
    return mul.getA() == mul.getB() ? mul.getA() : Value();
  if (auto pow = value.getDefiningOp<PowOp>())
    return getSplat(pow.getB()) == 2.0 ? pow.getA() : Value();
  return {};
}

struct RootMeanSquare {
  Value of;
  int64_t axis;
  double epsilon;
};

/// Matches sqrt(mean(square(x)) + epsilon).
std::optional<RootMeanSquare> matchRoot(Value underRoot) {
  auto add = skipBroadcasts(underRoot).getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  for (int side : {0, 1}) {
    auto epsilon = getSplat(add->getOperand(side));
    auto mean = epsilon ? matchMean(add->getOperand(1 - side)) : std::nullopt;
    Value x = mean ? matchSquare(mean->of) : Value();
    if (x)
      return RootMeanSquare{x, mean->axis, *epsilon};
  }
  return std::nullopt;
}

/// Matches 1 / sqrt(...) in any of its spellings.
std::optional<RootMeanSquare> matchInverseRoot(Value value) {
  value = skipBroadcasts(value);
  if (auto rsqrt = value.getDefiningOp<RsqrtOp>())
    return matchRoot(rsqrt.getX());
  Value root;
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    root = skipBroadcasts(reciprocal.getX());
  else if (auto div = value.getDefiningOp<DivOp>(); div && getSplat(div.getA()) == 1.0)
    root = skipBroadcasts(div.getB());
  else if (auto pow = value.getDefiningOp<PowOp>(); pow && getSplat(pow.getB()) == -0.5)
    return matchRoot(pow.getA());
  auto sqrt = root ? root.getDefiningOp<SqrtOp>() : nullptr;
  return sqrt ? matchRoot(sqrt.getX()) : std::nullopt;
}

/// Whether `statistic`, made of a reduction of x and splats, has its axes where x has them.
bool isAligned(Value statistic) { return findReduction(statistic, /*throughElementwise=*/true) != nullptr; }

/// The normalised value of `op` (x times inverse root, or x divided by root): x and the statistics, where they agree on
/// x.
std::optional<RootMeanSquare> matchNormalised(Operation *op) {
  if (auto mul = llvm::dyn_cast<MulOp>(op)) {
    for (int side : {0, 1})
      if (auto root = matchInverseRoot(mul->getOperand(side));
          root && root->of == mul->getOperand(1 - side) && isAligned(mul->getOperand(side)))
        return root;
    return std::nullopt;
  }
  auto div = llvm::cast<DivOp>(op);
  auto sqrt = skipBroadcasts(div.getB()).getDefiningOp<SqrtOp>();
  auto root = sqrt ? matchRoot(sqrt.getX()) : std::nullopt;
  return root && root->of == div.getA() && isAligned(div.getB()) ? root : std::nullopt;
}

template <typename Op> struct Recognize : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<mlir::FloatType>(tensorType(op.getResult()).getElementType()))
      return mlir::failure();
    std::optional<RootMeanSquare> match = matchNormalised(op);
    if (!match || match->of.getType() != op.getType())
      return mlir::failure();
    // x - mean(x) over the same axes: layer normalisation of x.
    if (auto sub = match->of.getDefiningOp<SubOp>())
      if (auto mean = matchMean(sub.getB());
          mean && mean->of == sub.getA() && mean->axis == match->axis && isAligned(sub.getB())) {
        rewriter.replaceOpWithNewOp<LayerNormOp>(op, sub.getA(), rewriter.getI64IntegerAttr(match->axis),
                                                 rewriter.getF64FloatAttr(match->epsilon));
        return mlir::success();
      }
    rewriter.replaceOpWithNewOp<RmsNormOp>(op, match->of, rewriter.getI64IntegerAttr(match->axis),
                                           rewriter.getF64FloatAttr(match->epsilon));
    return mlir::success();
  }
};

struct RecognizeNormalizationPass : impl::RecognizeNormalizationPassBase<RecognizeNormalizationPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<Recognize<MulOp>, Recognize<DivOp>>(&getContext());
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("recognition of normalisations does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tcc::ir
