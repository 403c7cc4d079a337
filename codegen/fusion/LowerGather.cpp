//===- LowerGather.cpp - gathers as loads at data-dependent indices -------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {

Value checkedIndex(Nest &nest, Value scalar, Type elementType, AffineExpr extent) {
  Value index = elementType.isUnsignedInteger()
                    ? nest.b.create<arith::IndexCastUIOp>(nest.loc, nest.b.getIndexType(), scalar).getResult()
                    : nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getIndexType(), scalar).getResult();
  return nest.b.create<ir::BoundsCheckOp>(nest.loc, nest.b.getIndexType(), index,
                                          ir::ExtentsAttr::get(nest.b.getContext(), extent), /*exact=*/nullptr,
                                          /*when=*/Value());
}

void maskEmpty(Operation *op, AffineExpr extent, ir::Exprs &mask) {
  if (ir::getRange(extent, ir::getSymbols(op)).first == 0)
    mask.push_back(extent - 1);
}

namespace {

/// Loop `dim` of `count` iterations as an index into an axis of `extent` elements: checked where only the run can tell
/// whether there are as many.
AffineExpr checkedDim(Operation *op, Nest &nest, unsigned dim, AffineExpr count, AffineExpr extent,
                      llvm::SmallVectorImpl<Value> &extra, ir::Exprs &mask) {
  if (ir::getValueRange(ir::simplifyExtent(extent - count), ir::getSymbols(op)).first >= 0)
    return nest.dim(dim);
  maskEmpty(op, extent, mask);
  extra.push_back(nest.b.create<ir::BoundsCheckOp>(nest.loc, nest.b.getIndexType(), nest.index(dim),
                                                   ir::ExtentsAttr::get(nest.b.getContext(), extent),
                                                   /*exact=*/nest.b.getUnitAttr(), /*when=*/Value()));
  return nest.dim(nest.dims().size() + extra.size() - 1);
}

} // namespace

LoweredValues lowerGather(ir::GatherOp op, KernelBuilder &kernel) {
  ir::Exprs from = extentsOf(op.getX());
  unsigned axis = op.getAxis(), indexRank = extentsOf(op.getIndices()).size();
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs atIndices, at;
    for (unsigned i = 0; i < indexRank; ++i)
      atIndices.push_back(nest.dim(axis + i));
    Value index = checkedIndex(nest, nest.load(kernel.input(1), atIndices), elementOf(op.getIndices()), from[axis]);
    unsigned rank = nest.dims().size();
    for (unsigned i = 0; i < from.size(); ++i)
      at.push_back(i < axis ? nest.dim(i) : i == axis ? nest.dim(rank) : nest.dim(i - 1 + indexRank));
    ir::Exprs mask;
    maskEmpty(op, from[axis], mask);
    return nest.load(kernel.input(0), at, mask, {}, index);
  }));
}

LoweredValues lowerGatherElements(ir::GatherElementsOp op, KernelBuilder &kernel) {
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at = nest.dims(), from = extentsOf(op.getX()), count = extentsOf(op.getIndices()), mask;
    Value scalar = nest.load(kernel.input(1), at);
    llvm::SmallVector<Value> extra{checkedIndex(nest, scalar, elementOf(op.getIndices()), from[op.getAxis()])};
    maskEmpty(op, from[op.getAxis()], mask);
    at[op.getAxis()] = nest.dim(nest.dims().size());
    // Along the other axes there may be fewer indices, not more.
    for (unsigned axis = 0; axis < from.size(); ++axis)
      if (axis != op.getAxis())
        at[axis] = checkedDim(op, nest, axis, count[axis], from[axis], extra, mask);
    return nest.load(kernel.input(0), at, mask, {}, extra);
  }));
}

LoweredValues lowerGatherNd(ir::GatherNdOp op, KernelBuilder &kernel) {
  ir::Exprs from = extentsOf(op.getX()), indexExtents = extentsOf(op.getIndices());
  std::optional<int64_t> tuple = ir::getConstant(indexExtents.back());
  if (!tuple)
    return failure();
  unsigned batch = op.getBatchDims(), outer = indexExtents.size() - 1;
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    unsigned rank = nest.dims().size();
    ir::Exprs at, mask;
    llvm::SmallVector<Value> extra;
    for (unsigned axis = 0; axis < batch; ++axis)
      at.push_back(checkedDim(op, nest, axis, indexExtents[axis], from[axis], extra, mask));
    for (int64_t i = 0; i < *tuple; ++i) {
      ir::Exprs atIndices = nest.dims(outer);
      atIndices.push_back(nest.constant(i));
      Value scalar = nest.load(kernel.input(1), atIndices);
      extra.push_back(checkedIndex(nest, scalar, elementOf(op.getIndices()), from[batch + i]));
      at.push_back(nest.dim(rank + extra.size() - 1));
      maskEmpty(op, from[batch + i], mask);
    }
    for (unsigned i = outer; i < rank; ++i)
      at.push_back(nest.dim(i));
    return nest.load(kernel.input(0), at, mask, {}, extra);
  }));
}

} // namespace tcc::codegen
