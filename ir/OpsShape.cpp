//===- OpsShape.cpp - constants, views and data movement -------------------===//
#include "ir/OpSupport.h"

#define GET_OP_CLASSES
#include "ir/OpsShape.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsShape.cpp.inc"
      >();
}

using mlir::AffineExpr;
using mlir::emitOptionalError;
using mlir::failure;
using mlir::LogicalResult;
using mlir::OpFoldResult;
using mlir::success;

//===- Constants ----------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }
OpFoldResult ExtentsOp::fold(FoldAdaptor) {
  auto constants = getValue().getConstants();
  if (!constants)
    return getValueAttr();
  auto type = llvm::cast<mlir::RankedTensorType>(getType());
  llvm::SmallVector<llvm::APInt> values;
  for (int64_t constant : *constants)
    values.push_back(llvm::APInt(64, constant, /*isSigned=*/true).trunc(type.getElementTypeBitWidth()));
  return mlir::DenseElementsAttr::get(type, values);
}
LogicalResult ExtentsOp::verify() {
  auto type = llvm::cast<mlir::RankedTensorType>(getType());
  if (!type.hasStaticShape() || type.getElementTypeBitWidth() < 32 || type.getElementTypeBitWidth() > 64)
    return emitOpError("needs a result of static extents and of 32 or 64 bit integers");
  if (type.getNumElements() != static_cast<int64_t>(getValue().getExprs().size()))
    return emitOpError() << "lists " << getValue().getExprs().size() << " values for " << type.getNumElements()
                         << " elements";
  return success();
}

//===- Views --------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (getX().getType() == getType())
    return success();
  if (tensorType(getX()).getElementType() != getType().getElementType())
    return emitOpError("must keep the element type");
  AffineExpr from = product(getContext(), getExtents(getX().getType())),
             to = product(getContext(), getExtents(getType()));
  if (!maybeEqual(from, to))
    return emitOpError() << "changes the number of elements from " << toString(from) << " to " << toString(to);
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

TCC_INFER(TransposeOp, {
  llvm::ArrayRef<int64_t> permutation = a.getPermutation();
  int64_t rank = rankOf(a.getX());
  if (static_cast<int64_t>(permutation.size()) != rank) {
    (void)emitOptionalError(loc, "permutation has ", permutation.size(), " axes, the operand ", rank);
    return {};
  }
  if (failed(checkAxes(loc, permutation, rank)))
    return {};
  Exprs from = getExtents(a.getX().getType());
  Exprs to;
  for (int64_t axis : permutation)
    to.push_back(from[axis]);
  return makeTensorType(to, tensorType(a.getX()).getElementType());
})
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  llvm::ArrayRef<int64_t> permutation = getPermutation();
  if (llvm::all_of(llvm::enumerate(permutation),
                   [](auto it) { return static_cast<int64_t>(it.index()) == it.value(); }))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    llvm::SmallVector<int64_t> combined;
    for (int64_t axis : permutation)
      combined.push_back(inner.getPermutation()[axis]);
    if (llvm::all_of(llvm::enumerate(combined), [](auto it) { return static_cast<int64_t>(it.index()) == it.value(); }))
      return inner.getX();
    setPermutation(combined);
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

LogicalResult BroadcastOp::verify() {
  Exprs from = getExtents(getX().getType()), to = getExtents(getType());
  if (tensorType(getX()).getElementType() != getType().getElementType())
    return emitOpError("must keep the element type");
  if (from.size() > to.size())
    return emitOpError() << "cannot broadcast rank " << from.size() << " to rank " << to.size();
  for (size_t k = 0; k < from.size(); ++k) {
    AffineExpr source = from[from.size() - 1 - k], target = to[to.size() - 1 - k];
    if (getConstant(source) != 1 && !maybeEqual(source, target))
      return emitOpError() << "cannot broadcast extent " << toString(source) << " to " << toString(target);
  }
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<BroadcastOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

LogicalResult SliceOp::verify() {
  int64_t rank = rankOf(getX());
  if (getType().getRank() != rank || static_cast<int64_t>(getStarts().getExprs().size()) != rank ||
      static_cast<int64_t>(getSteps().size()) != rank)
    return emitOpError("needs a start, a step and a result extent for each axis of its operand");
  if (tensorType(getX()).getElementType() != getType().getElementType())
    return emitOpError("must keep the element type");
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (getSteps()[axis] == 0)
      return emitOpError() << "step of axis " << axis << " is 0";
    auto start = getConstant(getStarts().getExprs()[axis]), extent = getConstant(getExtent(getX().getType(), axis)),
         count = getConstant(getExtent(getType(), axis));
    if (!start || !extent || !count || *count == 0)
      continue;
    int64_t last = *start + (*count - 1) * getSteps()[axis];
    if (*start < 0 || *start >= *extent || last < 0 || last >= *extent)
      return emitOpError() << "reads elements " << *start << " to " << last << " of axis " << axis
                           << ", whose extent is " << *extent;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool identity = getX().getType() == getType() &&
                  llvm::all_of(getStarts().getExprs(), [](AffineExpr e) { return getConstant(e) == 0; }) &&
                  llvm::all_of(getSteps(), [](int64_t step) { return step == 1; });
  return identity ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult PadOp::verify() {
  size_t rank = rankOf(getX());
  if (getLow().getExprs().size() != rank || getHigh().getExprs().size() != rank ||
      static_cast<size_t>(getType().getRank()) != rank)
    return emitOpError("needs a low and a high width for each axis of its operand");
  for (size_t axis = 0; axis < rank; ++axis) {
    AffineExpr expected = getExtent(getX().getType(), axis) + getLow().getExprs()[axis] + getHigh().getExprs()[axis];
    if (!maybeEqual(expected, getExtent(getType(), axis)))
      return emitOpError() << "result extent of axis " << axis << " is not low + extent + high";
  }
  if (tensorType(getX()).getElementType() != getType().getElementType())
    return emitOpError("must keep the element type");
  // Reflection does not go beyond the other end; the other modes need an element to repeat.
  if (getMode() != PadMode::Constant)
    for (size_t axis = 0; axis < rank; ++axis) {
      auto extent = getConstant(getExtent(getX().getType(), axis));
      int64_t most = !extent ? INT64_MAX : getMode() == PadMode::Reflect ? *extent - 1 : *extent > 0 ? INT64_MAX : 0;
      for (AffineExpr width : {getLow().getExprs()[axis], getHigh().getExprs()[axis]})
        if (auto constant = getConstant(width); constant && *constant > std::max<int64_t>(most, 0))
          return emitOpError() << "pads axis " << axis << " by " << *constant << ", more than its " << *extent
                               << " elements allow in this mode";
    }
  if (getFill() &&
      (rankOf(getFill()) != 0 || tensorType(getFill()).getElementType() != tensorType(getX()).getElementType()))
    return emitOpError("fill must be a scalar of the operand's element type");
  return success();
}

TCC_INFER(ConcatOp, {
  if (a.getXs().empty()) {
    (void)emitOptionalError(loc, "needs at least one operand");
    return {};
  }
  auto first = tensorType(a.getXs().front());
  int64_t axis = a.getAxis();
  if (failed(checkAxes(loc, axis, first.getRank())))
    return {};
  Exprs extents = getExtents(first);
  for (mlir::Value x : a.getXs().drop_front()) {
    auto type = tensorType(x);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType()) {
      (void)emitOptionalError(loc, "operands must have the same rank and element type");
      return {};
    }
    Exprs more = getExtents(type);
    for (int64_t k = 0; k < first.getRank(); ++k) {
      if (k == axis) {
        extents[k] = simplifyExtent(extents[k] + more[k]);
      } else if (!maybeEqual(extents[k], more[k])) {
        (void)emitOptionalError(loc, "operands differ in the extent of axis ", k);
        return {};
      }
    }
  }
  return makeTensorType(extents, first.getElementType());
})
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getXs().size() == 1 ? OpFoldResult(getXs().front()) : OpFoldResult();
}

LogicalResult IotaOp::verify() { return checkAxes(getLoc(), getAxis(), getType().getRank()); }

//===- Gather and scatter -------------------------------------------------------===//

TCC_INFER(GatherOp, {
  if (failed(checkAxes(loc, a.getAxis(), rankOf(a.getX()))))
    return {};
  Exprs from = getExtents(a.getX().getType());
  Exprs indices = getExtents(a.getIndices().getType());
  Exprs to(from.begin(), from.begin() + a.getAxis());
  llvm::append_range(to, indices);
  to.append(from.begin() + a.getAxis() + 1, from.end());
  return makeTensorType(to, tensorType(a.getX()).getElementType());
})

// Any index into an axis without elements is out of range.
static LogicalResult checkNotEmpty(mlir::Operation *op, AffineExpr gathered, llvm::ArrayRef<AffineExpr> indices) {
  if (getConstant(gathered) == 0 && llvm::all_of(indices, [](AffineExpr e) { return getConstant(e).value_or(0) > 0; }))
    return op->emitOpError("has indices that are out of range: it reads an axis without elements");
  return success();
}

LogicalResult GatherOp::verify() {
  // Ranks and axes are held to what the inference takes only after this.
  if (failed(mlir::detail::verifyInferredResultTypes(*this)))
    return failure();
  return checkNotEmpty(*this, getExtent(getX().getType(), getAxis()), getExtents(getIndices().getType()));
}

TCC_INFER(GatherElementsOp, {
  if (rankOf(a.getX()) != rankOf(a.getIndices())) {
    (void)emitOptionalError(loc, "indices must have the rank of the operand");
    return {};
  }
  if (failed(checkAxes(loc, a.getAxis(), rankOf(a.getX()))))
    return {};
  return withElementType(tensorType(a.getIndices()), tensorType(a.getX()).getElementType());
})
LogicalResult GatherElementsOp::verify() {
  if (failed(mlir::detail::verifyInferredResultTypes(*this)))
    return failure();
  Exprs from = getExtents(getX().getType()), indices = getExtents(getIndices().getType());
  for (auto [axis, pair] : llvm::enumerate(llvm::zip_equal(from, indices))) {
    auto most = getConstant(std::get<0>(pair)), count = getConstant(std::get<1>(pair));
    if (axis != getAxis() && most && count && *count > *most)
      return emitOpError() << "has " << *count << " indices along axis " << axis << " of " << *most << " elements";
  }
  return checkNotEmpty(*this, from[getAxis()], indices);
}

TCC_INFER(GatherNdOp, {
  Exprs from = getExtents(a.getX().getType());
  Exprs indices = getExtents(a.getIndices().getType());
  int64_t batch = a.getBatchDims();
  auto tuple = indices.empty() ? std::nullopt : getConstant(indices.back());
  if (!tuple || batch < 0 || batch >= static_cast<int64_t>(indices.size()) ||
      batch + *tuple > static_cast<int64_t>(from.size())) {
    (void)emitOptionalError(loc, "the last axis of indices must be a known number of axes after the batch axes");
    return {};
  }
  Exprs to(indices.begin(), indices.end() - 1);
  to.append(from.begin() + batch + *tuple, from.end());
  return makeTensorType(to, tensorType(a.getX()).getElementType());
})
LogicalResult GatherNdOp::verify() {
  if (failed(mlir::detail::verifyInferredResultTypes(*this)))
    return failure();
  Exprs from = getExtents(getX().getType()), indices = getExtents(getIndices().getType());
  for (uint64_t i = 0; i < getBatchDims(); ++i)
    if (!maybeEqual(from[i], indices[i]))
      return emitOpError() << "batch axis " << i << " has different extents in operand and indices";
  for (int64_t i = 0; i < getConstant(indices.back()).value_or(0); ++i)
    if (failed(checkNotEmpty(*this, from[getBatchDims() + i], llvm::ArrayRef(indices).drop_back())))
      return failure();
  return success();
}

TCC_INFER(ScatterElementsOp, {
  if (failed(checkAxes(loc, a.getAxis(), rankOf(a.getX()))))
    return {};
  return a.getX().getType();
})
LogicalResult ScatterElementsOp::verify() {
  if (rankOf(getIndices()) != rankOf(getX()) || rankOf(getUpdates()) != rankOf(getX()))
    return emitOpError("indices and updates must have the rank of the operand");
  for (auto [index, update] : llvm::zip_equal(getExtents(getIndices().getType()), getExtents(getUpdates().getType())))
    if (!maybeEqual(index, update))
      return emitOpError("indices and updates must have the same extents");
  if (tensorType(getUpdates()).getElementType() != tensorType(getX()).getElementType())
    return emitOpError("updates must have the operand's element type");
  return success();
}
TCC_INFER(ScatterNdOp, { return a.getX().getType(); })
LogicalResult ScatterNdOp::verify() {
  Exprs indices = getExtents(getIndices().getType());
  if (indices.empty() || !getConstant(indices.back()) || *getConstant(indices.back()) > rankOf(getX()))
    return emitOpError("the last axis of indices must be a known number of axes of the operand");
  if (tensorType(getUpdates()).getElementType() != tensorType(getX()).getElementType())
    return emitOpError("updates must have the operand's element type");
  Exprs x = getExtents(getX().getType()), updates = getExtents(getUpdates().getType());
  Exprs expected(indices.begin(), indices.end() - 1);
  expected.append(x.begin() + *getConstant(indices.back()), x.end());
  bool fits = expected.size() == updates.size() && llvm::all_of(llvm::zip(expected, updates), [](auto pair) {
                return maybeEqual(std::get<0>(pair), std::get<1>(pair));
              });
  if (!fits)
    return emitOpError(
        "updates must have the extents of the indices but the last, then those of the operand's other axes");
  return success();
}

} // namespace tcc::ir
