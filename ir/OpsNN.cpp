//===- OpsNN.cpp - contractions, convolutions, pooling, sampling -----------===//
#include "ir/OpSupport.h"

#define GET_OP_CLASSES
#include "ir/OpsNN.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerNNOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsNN.cpp.inc"
      >();
}

using mlir::AffineExpr;
using mlir::emitOptionalError;
using mlir::LogicalResult;
using mlir::success;

TCC_INFER(MatmulOp, {
  Exprs l = getExtents(a.getA().getType());
  Exprs r = getExtents(a.getB().getType());
  if (l.size() < 2 || l.size() != r.size() ||
      tensorType(a.getA()).getElementType() != tensorType(a.getB()).getElementType()) {
    (void)emitOptionalError(loc, "operands must have the same element type and the same rank, at least 2");
    return {};
  }
  for (size_t k = 0; k + 2 < l.size(); ++k)
    if (!maybeEqual(l[k], r[k])) {
      (void)emitOptionalError(loc, "operands differ in the extent of batch axis ", k);
      return {};
    }
  if (!maybeEqual(l.back(), r[r.size() - 2])) {
    (void)emitOptionalError(loc, "the last extent of the first operand must be the second but last of the second");
    return {};
  }
  l.back() = r.back();
  return makeTensorType(l, tensorType(a.getA()).getElementType());
})
namespace {

/// The attributes every op with a window has.
struct Window {
  llvm::ArrayRef<int64_t> strides, low, high, dilations;
};

LogicalResult checkWindow(std::optional<mlir::Location> loc, const Window &window, size_t spatial) {
  if (window.strides.size() != spatial || window.low.size() != spatial || window.high.size() != spatial ||
      window.dilations.size() != spatial)
    return emitOptionalError(loc, "strides, padding_low, padding_high and dilations need one value for each of the ",
                             spatial, " spatial axes");
  for (size_t k = 0; k < spatial; ++k)
    if (window.strides[k] <= 0 || window.dilations[k] <= 0)
      return emitOptionalError(loc, "strides and dilations must be positive");
  return success();
}

/// Output extent of one spatial axis for a kernel of extent `kernel`. `ceil` needs a constant kernel.
AffineExpr windowedExtent(AffineExpr input, AffineExpr kernel, const Window &window, size_t k, bool ceil) {
  AffineExpr span = simplifyExtent((kernel - 1) * window.dilations[k] + 1);
  int64_t high = window.high[k];
  if (ceil)
    high = ceilModePadding(high, *getConstant(span), window.strides[k]);
  AffineExpr room = simplifyExtent(input + (window.low[k] + high) - span);
  if (auto constant = getConstant(room); constant && *constant < 0)
    return mlir::getAffineConstantExpr(0, input.getContext());
  return room.floorDiv(window.strides[k]) + 1;
}

int64_t spatialAxis(bool channelsLast, size_t k) { return static_cast<int64_t>(k) + (channelsLast ? 1 : 2); }

} // namespace

TCC_INFER(ConvOp, {
  Exprs x = getExtents(a.getX().getType());
  Exprs w = getExtents(a.getW().getType());
  Window window{a.getStrides(), a.getPaddingLow(), a.getPaddingHigh(), a.getDilations()};
  if (x.size() < 3 || x.size() != w.size()) {
    (void)emitOptionalError(loc, "input and weights must have the same rank, at least 3");
    return {};
  }
  size_t spatial = x.size() - 2;
  if (failed(checkWindow(loc, window, spatial)))
    return {};
  int64_t channelAxis = a.getChannelsLast() ? x.size() - 1 : 1;
  if (a.getGroups() <= 0 || !maybeEqual(x[channelAxis], simplifyExtent(w[1] * a.getGroups()))) {
    (void)emitOptionalError(loc, "the input's channels must be the weights' second extent times groups");
    return {};
  }
  if (auto outputs = getConstant(w[0]); outputs && *outputs % a.getGroups() != 0) {
    (void)emitOptionalError(loc, "output channels must be a multiple of groups");
    return {};
  }
  Exprs y = x;
  y[channelAxis] = w[0];
  for (size_t k = 0; k < spatial; ++k) {
    int64_t axis = spatialAxis(a.getChannelsLast(), k);
    y[axis] = windowedExtent(x[axis], w[2 + k], window, k, /*ceil=*/false);
  }
  return makeTensorType(y, tensorType(a.getX()).getElementType());
})
static LogicalResult verifySameElement(mlir::Operation *op) {
  for (mlir::Value operand : op->getOperands())
    if (tensorType(operand).getElementType() != tensorType(op->getOperand(0)).getElementType())
      return op->emitOpError("operands must have the same element type");
  return success();
}
LogicalResult ConvOp::verify() { return verifySameElement(*this); }

TCC_INFER(ConvTransposeOp, {
  Exprs x = getExtents(a.getX().getType());
  Exprs w = getExtents(a.getW().getType());
  Window window{a.getStrides(), a.getPaddingLow(), a.getPaddingHigh(), a.getDilations()};
  if (x.size() < 3 || x.size() != w.size()) {
    (void)emitOptionalError(loc, "input and weights must have the same rank, at least 3");
    return {};
  }
  size_t spatial = x.size() - 2;
  if (failed(checkWindow(loc, window, spatial)))
    return {};
  int64_t channelAxis = a.getChannelsLast() ? x.size() - 1 : 1;
  if (a.getOutputPadding().size() != spatial || a.getGroups() <= 0 || !maybeEqual(x[channelAxis], w[0])) {
    (void)emitOptionalError(
        loc,
        "the input's channels must be the weights' first extent, and output_padding needs one value a spatial axis");
    return {};
  }
  Exprs y = x;
  y[channelAxis] = simplifyExtent(w[1] * a.getGroups());
  for (size_t k = 0; k < spatial; ++k) {
    int64_t axis = spatialAxis(a.getChannelsLast(), k);
    y[axis] = (x[axis] - 1) * window.strides[k] + a.getOutputPadding()[k] + (w[2 + k] - 1) * window.dilations[k] + 1 -
              (window.low[k] + window.high[k]);
  }
  return makeTensorType(y, tensorType(a.getX()).getElementType());
})
LogicalResult ConvTransposeOp::verify() { return verifySameElement(*this); }

static mlir::Type pooledType(mlir::Value input, llvm::ArrayRef<int64_t> kernel, const Window &window, bool ceil,
                             bool channelsLast, std::optional<mlir::Location> loc) {
  Exprs x = getExtents(input.getType());
  if (x.size() < 3 || kernel.size() != x.size() - 2) {
    (void)emitOptionalError(loc, "needs a kernel extent for each spatial axis, and at least one");
    return {};
  }
  if (failed(checkWindow(loc, window, kernel.size())))
    return {};
  for (size_t k = 0; k < kernel.size(); ++k) {
    if (kernel[k] <= 0) {
      (void)emitOptionalError(loc, "kernel extents must be positive");
      return {};
    }
    AffineExpr &extent = x[spatialAxis(channelsLast, k)];
    extent = windowedExtent(extent, mlir::getAffineConstantExpr(kernel[k], input.getContext()), window, k, ceil);
  }
  return makeTensorType(x, tensorType(input).getElementType());
}

TCC_INFER(MaxPoolOp, {
  return pooledType(a.getX(), a.getKernel(), {a.getStrides(), a.getPaddingLow(), a.getPaddingHigh(), a.getDilations()},
                    a.getCeilMode(), a.getChannelsLast(), loc);
})
TCC_INFER(AvgPoolOp, {
  return pooledType(a.getX(), a.getKernel(), {a.getStrides(), a.getPaddingLow(), a.getPaddingHigh(), a.getDilations()},
                    a.getCeilMode(), a.getChannelsLast(), loc);
})
mlir::LogicalResult MaxPoolIndicesOp::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> loc,
                                                       mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                       mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                       llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor a(operands, attributes, properties, regions);
  mlir::Type type =
      pooledType(a.getX(), a.getKernel(), {a.getStrides(), a.getPaddingLow(), a.getPaddingHigh(), a.getDilations()},
                 a.getCeilMode(), /*channelsLast=*/false, loc);
  if (!type)
    return mlir::failure();
  types.push_back(type);
  types.push_back(withElementType(llvm::cast<mlir::RankedTensorType>(type), mlir::IntegerType::get(context, 64)));
  return success();
}

TCC_INFER(AttentionOp, {
  Exprs q = getExtents(a.getQ().getType());
  Exprs k = getExtents(a.getK().getType());
  Exprs v = getExtents(a.getV().getType());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) {
    (void)emitOptionalError(loc, "q, k and v must have rank 4: batch, heads, sequence, head size");
    return {};
  }
  if (!maybeEqual(q[0], k[0]) || !maybeEqual(k[0], v[0]) || !maybeEqual(k[1], v[1]) || !maybeEqual(k[2], v[2]) ||
      !maybeEqual(q[3], k[3])) {
    (void)emitOptionalError(loc, "q, k and v disagree in batch, heads, sequence or head size");
    return {};
  }
  q[3] = v[3];
  return makeTensorType(q, tensorType(a.getQ()).getElementType());
})
LogicalResult AttentionOp::verify() {
  mlir::Type element = tensorType(getQ()).getElementType();
  if (tensorType(getK()).getElementType() != element || tensorType(getV()).getElementType() != element)
    return emitOpError("q, k and v must have the same element type");
  Exprs q = getExtents(getQ().getType()), k = getExtents(getK().getType());
  auto heads = getConstant(q[1]), keyHeads = getConstant(k[1]);
  if (heads && keyHeads && (*keyHeads == 0 || *heads % *keyHeads != 0))
    return emitOpError() << "has " << *heads << " query heads, no multiple of its " << *keyHeads << " key heads";
  if (!getMask())
    return success();
  mlir::RankedTensorType mask = tensorType(getMask());
  const bool half = element.isF16() || element.isBF16();
  if (mask.getElementType() != element && !mask.getElementType().isInteger(1) &&
      !(half && mask.getElementType().isF32()))
    return emitOpError("the mask must be bool, of q's element type, or float32 where that has 16 bits");
  Exprs scores{q[0], q[1], q[2], k[2]}, extents = getExtents(mask);
  if (extents.size() > scores.size())
    return emitOpError("the mask has more than four axes");
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    AffineExpr from = extents[extents.size() - 1 - axis], to = scores[scores.size() - 1 - axis];
    if (getConstant(from) != 1 && !maybeEqual(from, to))
      return emitOpError() << "extent " << toString(from) << " of the mask does not broadcast to " << toString(to);
  }
  return success();
}

LogicalResult ResizeOp::verify() {
  if (getType().getRank() != rankOf(getX()) || tensorType(getX()).getElementType() != getType().getElementType())
    return emitOpError("must keep rank and element type");
  if (!getScales().empty() && static_cast<int64_t>(getScales().size()) != rankOf(getX()))
    return emitOpError("needs a scale for each axis");
  if (!getRoi().empty() && static_cast<int64_t>(getRoi().size()) != 2 * rankOf(getX()))
    return emitOpError("roi needs a start and an end for each axis");
  return success();
}

TCC_INFER(GridSampleOp, {
  Exprs x = getExtents(a.getX().getType());
  Exprs grid = getExtents(a.getGrid().getType());
  if (x.size() < 3 || grid.size() != x.size()) {
    (void)emitOptionalError(loc, "the grid must have the operand's rank, at least 3");
    return {};
  }
  if (!maybeEqual(x[0], grid[0]) || getConstant(grid.back()) != static_cast<int64_t>(x.size()) - 2) {
    (void)emitOptionalError(loc, "the grid must have the operand's batch, and a coordinate for each spatial axis");
    return {};
  }
  Exprs y{x[0], x[1]};
  y.append(grid.begin() + 1, grid.end() - 1);
  return makeTensorType(y, tensorType(a.getX()).getElementType());
})
} // namespace tcc::ir
