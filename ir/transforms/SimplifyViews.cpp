//===- SimplifyViews.cpp - chains of reshapes and transposes cancel --------===//
#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "ir/transforms/Passes.h"
#include "ir/transforms/ReshapeGroups.h"
#include "ir/transforms/SinkTranspose.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tcc::ir {
#define GEN_PASS_DEF_SIMPLIFYVIEWSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::OpRewritePattern;
using mlir::PatternRewriter;
using mlir::success;
using mlir::Value;
using Permutation = llvm::SmallVector<int64_t>;

/// reshape(transpose(x)) -> transpose(reshape(x)) where each group of merged or split axes lies together in x as well:
/// the flattening of H and W before a transformer, and back.
struct SinkThroughReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    Exprs to = getExtents(op.getType());
    llvm::SmallVector<ReshapeGroup> groups = groupAxes(getExtents(op.getX().getType()), to);
    if (groups.empty())
      return failure();
    // Groups in the order of x's axes; within a group the axes must be consecutive there.
    llvm::SmallVector<std::pair<int64_t, size_t>> order;
    for (auto [index, group] : llvm::enumerate(groups)) {
      for (size_t k = 1; k < group.from.size(); ++k)
        if (p[group.from[k]] != p[group.from[k - 1]] + 1)
          return failure();
      order.emplace_back(p[group.from.front()], index);
    }
    llvm::sort(order);
    Exprs innerExtents;
    Permutation outer(to.size());
    for (auto [axis, index] : order)
      for (int64_t result : groups[index].to) {
        outer[result] = innerExtents.size();
        innerExtents.push_back(to[result]);
      }
    Value inner = rewriter.createOrFold<ReshapeOp>(
        op.getLoc(), makeTensorType(innerExtents, op.getType().getElementType()), transpose.getX());
    rewriter.replaceOp(op,
                       rewriter.createOrFold<TransposeOp>(op.getLoc(), inner, rewriter.getDenseI64ArrayAttr(outer)));
    return success();
  }
};

struct SimplifyViewsPass : impl::SimplifyViewsPassBase<SimplifyViewsPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    populateSinkTransposeThroughReshape(patterns);
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("simplification of views does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace

void populateSinkTransposeThroughReshape(mlir::RewritePatternSet &patterns) {
  patterns.add<SinkThroughReshape>(patterns.getContext());
}

} // namespace tcc::ir
