//===- FoldScaleIntoWeights.cpp - per-channel factors into weights ---------===//
#include "ir/ElementTypes.h"
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "runtime/reference/reference.h"

namespace tcc::ir {
#define GEN_PASS_DEF_FOLDSCALEINTOWEIGHTSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::Operation;
using mlir::PatternRewriter;
using mlir::Value;

/// Where the output channels are: axis of the result, and axis of the weights.
struct Channels {
  Value weights;
  int64_t resultAxis, weightAxis;
};

std::optional<Channels> channelsOf(Operation *op) {
  if (auto conv = llvm::dyn_cast<ConvOp>(op))
    return Channels{conv.getW(), conv.getChannelsLast() ? rankOf(conv.getY()) - 1 : 1, 0};
  if (auto conv = llvm::dyn_cast<ConvTransposeOp>(op); conv && conv.getGroups() == 1)
    return Channels{conv.getW(), conv.getChannelsLast() ? rankOf(conv.getY()) - 1 : 1, 1};
  if (auto matmul = llvm::dyn_cast<MatmulOp>(op); matmul && rankOf(matmul.getB()) == 2)
    return Channels{matmul.getB(), 1, 1};
  return std::nullopt;
}

/// The linear op below reshapes that keep the channel axis whole and last: `(x W) reshaped` scales like `x W`.
Operation *linearBelow(Value value, int64_t &axis) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return nullptr;
    auto reshape = llvm::dyn_cast<ReshapeOp>(op);
    if (!reshape)
      return op;
    // Only where the channels are the last axis on both sides.
    Exprs from = getExtents(reshape.getX().getType()), to = getExtents(reshape.getType());
    if (axis != static_cast<int64_t>(to.size()) - 1 || from.empty() || from.back() != to.back())
      return nullptr;
    axis = static_cast<int64_t>(from.size()) - 1;
    value = reshape.getX();
  }
}

/// weights * factor along `axis`, in the weights' element type.
mlir::FailureOr<mlir::ElementsAttr> scaleWeights(mlir::MLIRContext *context, const Tensor &weights,
                                                 const Tensor &factor, int64_t axis) {
  Dims strides(weights.rank(), 0);
  if (factor.num_elements() > 1)
    strides[axis] = 1;
  Tensor spread = factor.View(weights.dims(), strides, 0);
  reference::Kernel multiply = reference::Find("mul");
  if (!multiply)
    return mlir::failure();
  Tensor inputs[] = {weights, spread};
  TensorType results[] = {weights.type()};
  Attributes none;
  auto product = multiply({inputs, none, results});
  if (!product.ok())
    return mlir::failure();
  auto elements = toElements(context, product->front());
  if (!elements.ok())
    return mlir::failure();
  return *elements;
}

struct FoldScale : mlir::OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    // Half weights would be rounded once more; the factor is applied to the accumulators instead.
    auto element = llvm::dyn_cast<mlir::FloatType>(op.getType().getElementType());
    if (!element || element.getWidth() < 32)
      return mlir::failure();
    for (int side : {0, 1}) {
      auto factor = getChannelConstant(op->getOperand(1 - side));
      if (!factor)
        continue;
      Value scaled = op->getOperand(side);
      int64_t axis = factor->axis;
      if (axis < 0)
        axis = rankOf(op) - 1; // a splat scales whichever axis the channels are on, see below
      // (linear + bias) * s -> linear * s + bias * s
      if (auto add = scaled.getDefiningOp<AddOp>(); add && add->hasOneUse()) {
        for (int biasSide : {0, 1}) {
          if (!getChannelConstant(add->getOperand(biasSide)))
            continue;
          Value linear = add->getOperand(1 - biasSide);
          if (!isFoldable(linear, factor->axis))
            continue;
          Value product = rewriter.create<MulOp>(op.getLoc(), linear, op->getOperand(1 - side));
          Value bias = rewriter.create<MulOp>(op.getLoc(), add->getOperand(biasSide), op->getOperand(1 - side));
          rewriter.replaceOpWithNewOp<AddOp>(op, product, bias);
          return mlir::success();
        }
      }
      if (!isFoldable(scaled, factor->axis))
        continue;
      int64_t at = axis;
      Operation *linear = linearBelow(scaled, at);
      Channels channels = *channelsOf(linear);
      auto constant = channels.weights.getDefiningOp<ConstantOp>();
      auto weights = toTensor(constant.getValue());
      if (!weights.ok())
        return mlir::failure();
      auto elements = scaleWeights(op.getContext(), *weights, factor->elements, channels.weightAxis);
      if (mlir::failed(elements))
        return mlir::failure();
      rewriter.setInsertionPoint(linear);
      Value scaledWeights = rewriter.create<ConstantOp>(constant.getLoc(), constant.getType(), *elements);
      rewriter.modifyOpInPlace(linear, [&] { linear->setOperand(1, scaledWeights); });
      rewriter.replaceOp(op, scaled);
      return mlir::success();
    }
    return mlir::failure();
  }

  /// Whether `value` is a linear op with constant weights whose output channels are on `axis` (-1: any), read by
  /// nothing else.
  static bool isFoldable(Value value, int64_t axis) {
    int64_t at = axis < 0 ? rankOf(value) - 1 : axis;
    Operation *linear = linearBelow(value, at);
    if (!linear)
      return false;
    auto channels = channelsOf(linear);
    return channels && (axis < 0 || channels->resultAxis == at) && channels->weights.getDefiningOp<ConstantOp>();
  }
};

struct FoldScaleIntoWeightsPass : impl::FoldScaleIntoWeightsPassBase<FoldScaleIntoWeightsPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<FoldScale>(&getContext());
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("folding of scales does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tcc::ir
