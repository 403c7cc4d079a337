//===- LowerGather.cpp - gathers as loads at data-dependent indices -------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// An integer scalar as an index into an axis of `extent` elements: negative ones count from the end, out of range is
/// reported.
Value checkedIndex(Nest &nest, Value scalar, Type elementType, AffineExpr extent) {
  Value index = elementType.isUnsignedInteger()
                    ? nest.b.create<arith::IndexCastUIOp>(nest.loc, nest.b.getIndexType(), scalar).getResult()
                    : nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getIndexType(), scalar).getResult();
  return nest.b.create<ir::BoundsCheckOp>(nest.loc, nest.b.getIndexType(), index,
                                          ir::ExtentsAttr::get(nest.b.getContext(), extent));
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
    return nest.load(kernel.input(0), at, {}, {}, index);
  }));
}

LoweredValues lowerGatherElements(ir::GatherElementsOp op, KernelBuilder &kernel) {
  return lowered(kernel.map(extentsOf(op.getY()), elementOf(op.getY()), [&](Nest &nest) {
    ir::Exprs at = nest.dims();
    Value scalar = nest.load(kernel.input(1), at);
    Value index = checkedIndex(nest, scalar, elementOf(op.getIndices()), extentsOf(op.getX())[op.getAxis()]);
    at[op.getAxis()] = nest.dim(at.size());
    return nest.load(kernel.input(0), at, {}, {}, index);
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
    ir::Exprs at = nest.dims(batch);
    llvm::SmallVector<Value> extra;
    for (int64_t i = 0; i < *tuple; ++i) {
      ir::Exprs atIndices = nest.dims(outer);
      atIndices.push_back(nest.constant(i));
      Value scalar = nest.load(kernel.input(1), atIndices);
      extra.push_back(checkedIndex(nest, scalar, elementOf(op.getIndices()), from[batch + i]));
      at.push_back(nest.dim(rank + i));
    }
    for (unsigned i = outer; i < rank; ++i)
      at.push_back(nest.dim(i));
    return nest.load(kernel.input(0), at, {}, {}, extra);
  }));
}

} // namespace tcc::codegen
