//===- PropagateChannelsLast.cpp - convolutional stretches in NHWC ---------===//
//
// Every channels-first convolution becomes a channels-last one between two transposes; then transposes to
// channels-first sink through the ops that follow until they meet the transpose of the next convolution and cancel.
// What remains stands at the borders of the stretch.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "ir/transforms/Passes.h"
#include "ir/transforms/SinkTranspose.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tcc::ir {
#define GEN_PASS_DEF_PROPAGATECHANNELSLASTPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::OpRewritePattern;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;
using Permutation = llvm::SmallVector<int64_t>;

/// y = transpose(x, p) with x channels-last and y channels-first: p = [0, r - 1, 1, ..., r - 2].
Permutation channelsFirstFromLast(int64_t rank) {
  Permutation p{0, rank - 1};
  for (int64_t axis = 1; axis < rank - 1; ++axis)
    p.push_back(axis);
  return p;
}

Permutation invert(llvm::ArrayRef<int64_t> p) {
  Permutation inverse(p.size());
  for (auto [position, axis] : llvm::enumerate(p))
    inverse[axis] = position;
  return inverse;
}

/// The transpose that makes `value` channels-first out of channels-last, or null.
TransposeOp getSinkable(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return nullptr;
  int64_t rank = llvm::cast<RankedTensorType>(value.getType()).getRank();
  if (rank < 3 || transpose.getPermutation() != llvm::ArrayRef<int64_t>(channelsFirstFromLast(rank)))
    return nullptr;
  return transpose;
}

/// The type of x where y = transpose(x, p).
RankedTensorType unpermutedType(mlir::Type y, llvm::ArrayRef<int64_t> p) {
  Exprs from = getExtents(y), to(from.size());
  for (auto [position, axis] : llvm::enumerate(p))
    to[axis] = from[position];
  return makeTensorType(to, llvm::cast<RankedTensorType>(y).getElementType());
}

bool hasAtMostOneNonUnitExtent(mlir::Type type) {
  return llvm::count_if(getExtents(type), [](mlir::AffineExpr e) { return getConstant(e) != 1; }) <= 1;
}

/// A constant whose transpose is one too and costs nothing: a splat (the bounds of a clip, broadcast to a whole
/// activation, are folded to one), or few elements.
bool isCheapConstant(Value y) {
  auto constant = y.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  return constant.getValue().getNumElements() <= 4096 || (dense && dense.isSplat());
}

/// x with y = transpose(x, p), for a y whose permutation moves no data worth speaking of: null for any other.
Value unpermuteCheaply(PatternRewriter &rewriter, mlir::Location loc, Value y, llvm::ArrayRef<int64_t> p) {
  if (auto transpose = y.getDefiningOp<TransposeOp>(); transpose && transpose.getPermutation() == p)
    return transpose.getX();
  RankedTensorType target = unpermutedType(y.getType(), p);
  if (hasAtMostOneNonUnitExtent(y.getType()))
    return rewriter.createOrFold<ReshapeOp>(loc, target, y);
  if (auto broadcast = y.getDefiningOp<BroadcastOp>()) {
    Value source = broadcast.getX();
    auto sourceType = llvm::cast<RankedTensorType>(source.getType());
    Exprs extents(p.size() - sourceType.getRank(), mlir::getAffineConstantExpr(1, y.getContext()));
    llvm::append_range(extents, getExtents(sourceType));
    source = rewriter.createOrFold<ReshapeOp>(loc, makeTensorType(extents, sourceType.getElementType()), source);
    Value inner = unpermuteCheaply(rewriter, loc, source, p);
    return inner ? rewriter.createOrFold<BroadcastOp>(loc, target, inner) : Value();
  }
  if (isCheapConstant(y))
    return rewriter.createOrFold<TransposeOp>(loc, y, rewriter.getDenseI64ArrayAttr(invert(p)));
  return {};
}

/// Whether unpermuteCheaply would succeed, without making anything.
bool isCheapToUnpermute(Value y, llvm::ArrayRef<int64_t> p) {
  if (auto transpose = y.getDefiningOp<TransposeOp>(); transpose && transpose.getPermutation() == p)
    return true;
  if (hasAtMostOneNonUnitExtent(y.getType()))
    return true;
  if (auto broadcast = y.getDefiningOp<BroadcastOp>())
    return hasAtMostOneNonUnitExtent(broadcast.getX().getType()) ||
           (llvm::cast<RankedTensorType>(broadcast.getX().getType()).getRank() == static_cast<int64_t>(p.size()) &&
            isCheapToUnpermute(broadcast.getX(), p));
  return isCheapConstant(y);
}

/// Replaces `op` by transposes, with the permutation `p`, of the results of `replacement`.
void replaceWithTransposed(PatternRewriter &rewriter, Operation *op, Operation *replacement,
                           llvm::ArrayRef<int64_t> p) {
  llvm::SmallVector<Value> values;
  for (Value result : replacement->getResults())
    values.push_back(rewriter.create<TransposeOp>(op->getLoc(), result, rewriter.getDenseI64ArrayAttr(p)));
  rewriter.replaceOp(op, values);
}

Operation *cloneWith(PatternRewriter &rewriter, Operation *op, mlir::ValueRange operands, mlir::TypeRange types,
                     llvm::ArrayRef<mlir::NamedAttribute> changed = {}) {
  mlir::NamedAttrList attributes(op->getAttrs());
  for (mlir::NamedAttribute attribute : changed)
    attributes.set(attribute.getName(), attribute.getValue());
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  return rewriter.create(state);
}

//===- Convolutions ------------------------------------------------------------===//

template <typename ConvLike> struct ConvToChannelsLast : OpRewritePattern<ConvLike> {
  using OpRewritePattern<ConvLike>::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvLike op, PatternRewriter &rewriter) const override {
    if (op.getChannelsLast())
      return failure();
    Permutation p = channelsFirstFromLast(llvm::cast<RankedTensorType>(op.getX().getType()).getRank());
    Value x = rewriter.createOrFold<TransposeOp>(op.getLoc(), op.getX(), rewriter.getDenseI64ArrayAttr(invert(p)));
    Operation *conv = cloneWith(rewriter, op, {x, op.getW()}, unpermutedType(op.getY().getType(), p),
                                rewriter.getNamedAttr("channels_last", rewriter.getBoolAttr(true)));
    replaceWithTransposed(rewriter, op, conv, p);
    return success();
  }
};

//===- Sinking -----------------------------------------------------------------===//

struct SinkThroughElementwise : mlir::OpTraitRewritePattern<mlir::OpTrait::Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<TCCDialect>(op->getDialect()))
      return failure();
    TransposeOp transpose;
    for (Value operand : op->getOperands())
      if (!transpose)
        transpose = getSinkable(operand);
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isCheapToUnpermute(operand, p); }))
      return failure();
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(unpermuteCheaply(rewriter, op->getLoc(), operand, p));
    Operation *inner = cloneWith(rewriter, op, operands, unpermutedType(op->getResult(0).getType(), p));
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct SinkThroughBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose || llvm::cast<RankedTensorType>(op.getX().getType()).getRank() !=
                          llvm::cast<RankedTensorType>(op.getType()).getRank())
      return failure();
    Permutation p(transpose.getPermutation());
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p));
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

template <typename Pool> struct SinkThroughPool : OpRewritePattern<Pool> {
  using OpRewritePattern<Pool>::OpRewritePattern;
  LogicalResult matchAndRewrite(Pool op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose || op.getChannelsLast())
      return failure();
    Permutation p(transpose.getPermutation());
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p),
                                 rewriter.getNamedAttr("channels_last", rewriter.getBoolAttr(true)));
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    Permutation axes;
    for (int64_t axis : op.getAxes())
      axes.push_back(p[axis]);
    llvm::sort(axes);
    auto changed = rewriter.getNamedAttr("axes", rewriter.getDenseI64ArrayAttr(axes));
    if (op.getKeepDims()) {
      Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p), changed);
      replaceWithTransposed(rewriter, op, inner, p);
      return success();
    }
    // Axes that stay: their order in the result, and in the result of the reduction before the transpose.
    Permutation kept;
    for (auto [position, axis] : llvm::enumerate(p))
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(position)))
        kept.push_back(axis);
    Permutation sorted = kept;
    llvm::sort(sorted);
    Permutation order;
    for (int64_t axis : kept)
      order.push_back(llvm::find(sorted, axis) - sorted.begin());
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), order), changed);
    rewriter.replaceOp(
        op, rewriter.createOrFold<TransposeOp>(op.getLoc(), inner->getResult(0), rewriter.getDenseI64ArrayAttr(order)));
    return success();
  }
};

template <typename AxisOp> struct SinkThroughAxisOp : OpRewritePattern<AxisOp> {
  using OpRewritePattern<AxisOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(AxisOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p),
                                 rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(p[op.getAxis()])));
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    TransposeOp first = op.getXs().empty() ? nullptr : getSinkable(op.getXs().front());
    if (!first)
      return failure();
    Permutation p(first.getPermutation());
    if (!llvm::all_of(op.getXs(), [&](Value x) { return isCheapToUnpermute(x, p); }))
      return failure();
    llvm::SmallVector<Value> operands;
    for (Value x : op.getXs())
      operands.push_back(unpermuteCheaply(rewriter, op.getLoc(), x, p));
    Operation *inner = cloneWith(rewriter, op, operands, unpermutedType(op.getType(), p),
                                 rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(p[op.getAxis()])));
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

/// A per-axis list of y = transpose(x, p), for x.
template <typename T> llvm::SmallVector<T> unpermuteList(llvm::ArrayRef<T> list, llvm::ArrayRef<int64_t> p) {
  llvm::SmallVector<T> result(list);
  for (auto [position, axis] : llvm::enumerate(p))
    result[axis] = list[position];
  return result;
}

struct SinkThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    llvm::SmallVector<Value> operands{transpose.getX()};
    if (op.getFill())
      operands.push_back(op.getFill());
    auto permuted = [&](ExtentsAttr list) {
      return ExtentsAttr::get(op.getContext(), unpermuteList(list.getExprs(), p));
    };
    Operation *inner = cloneWith(rewriter, op, operands, unpermutedType(op.getType(), p),
                                 {rewriter.getNamedAttr("low", permuted(op.getLowAttr())),
                                  rewriter.getNamedAttr("high", permuted(op.getHighAttr()))});
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    auto starts = ExtentsAttr::get(op.getContext(), unpermuteList(op.getStartsAttr().getExprs(), p));
    auto steps = rewriter.getDenseI64ArrayAttr(unpermuteList(op.getSteps(), p));
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p),
                                 {rewriter.getNamedAttr("starts", starts), rewriter.getNamedAttr("steps", steps)});
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct SinkThroughResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = getSinkable(op.getX());
    if (!transpose)
      return failure();
    Permutation p(transpose.getPermutation());
    llvm::SmallVector<mlir::NamedAttribute> changed;
    if (!op.getScales().empty())
      changed.push_back(
          rewriter.getNamedAttr("scales", rewriter.getDenseF64ArrayAttr(unpermuteList(op.getScales(), p))));
    // roi holds the starts of all axes, then the ends.
    if (llvm::ArrayRef<double> roi = op.getRoi(); roi.size() == 2 * p.size()) {
      llvm::SmallVector<double> permuted = unpermuteList(roi.take_front(p.size()), p);
      llvm::append_range(permuted, unpermuteList(roi.drop_front(p.size()), p));
      changed.push_back(rewriter.getNamedAttr("roi", rewriter.getDenseF64ArrayAttr(permuted)));
    }
    Operation *inner = cloneWith(rewriter, op, transpose.getX(), unpermutedType(op.getType(), p), changed);
    replaceWithTransposed(rewriter, op, inner, p);
    return success();
  }
};

struct PropagateChannelsLastPass : impl::PropagateChannelsLastPassBase<PropagateChannelsLastPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<ConvToChannelsLast<ConvOp>, ConvToChannelsLast<ConvTransposeOp>, SinkThroughElementwise,
                 SinkThroughBroadcast, SinkThroughPool<MaxPoolOp>, SinkThroughPool<AvgPoolOp>, SinkThroughReduce,
                 SinkThroughAxisOp<SoftmaxOp>, SinkThroughAxisOp<LogSoftmaxOp>, SinkThroughConcat, SinkThroughPad,
                 SinkThroughSlice, SinkThroughResize>(&getContext());
    populateSinkTransposeThroughReshape(patterns);
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation()->emitError("layout propagation does not come to an end; this is a bug of tcc");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tcc::ir
