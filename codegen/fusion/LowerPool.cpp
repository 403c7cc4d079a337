//===- LowerPool.cpp - pooling as masked reductions -----------------------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

template <typename Op> LoweredValues lowerPoolOp(Op op, KernelBuilder &kernel, bool isMax, bool countIncludePad) {
  Type element = elementOf(op.getX()), compute = computeType(element);
  if (!isa<FloatType>(compute))
    return failure();
  ir::Exprs from = extentsOf(op.getX()), to = extentsOf(op.getY());
  unsigned spatial = op.getKernel().size(), first = op.getChannelsLast() ? 1 : from.size() - spatial;
  MLIRContext *context = kernel.context();
  ir::Exprs extents = to;
  for (int64_t size : op.getKernel())
    extents.push_back(kernel.constant(size));

  ir::Exprs at, mask, countMask;
  for (unsigned i = 0; i < from.size(); ++i)
    at.push_back(getAffineDimExpr(i, context));
  for (unsigned i = 0; i < spatial; ++i) {
    unsigned axis = first + i;
    int64_t low = op.getPaddingLow()[i], high = op.getPaddingHigh()[i];
    AffineExpr position = getAffineDimExpr(axis, context) * op.getStrides()[i] +
                          getAffineDimExpr(to.size() + i, context) * op.getDilations()[i] - low;
    at[axis] = position;
    // A window may reach beyond the input by padding, and (rounded up) beyond that.
    if (low > 0)
      mask.push_back(position);
    if (high > 0 || op.getCeilMode())
      mask.push_back(from[axis] - 1 - position);
    if (op.getCeilMode())
      countMask.push_back(from[axis] + high - 1 - position);
  }
  if (!countIncludePad)
    countMask = mask;

  if (isMax) {
    Value value = kernel.reduce(extents, spatial, ir::ReduceKind::Max, compute, [&](Nest &nest) {
      Value lowest = nest.constantOf(element, -std::numeric_limits<double>::infinity());
      return toCompute(nest.b, nest.loc, nest.load(kernel.input(0), at, mask, mask.empty() ? Value() : lowest));
    });
    if (compute == element)
      return lowered(value);
    return lowered(kernel.map(to, element, [&](Nest &nest) {
      return fromCompute(nest.b, nest.loc, nest.load(value, nest.dims()), element);
    }));
  }
  bool counts = !countMask.empty();
  llvm::SmallVector<ir::ReduceKind> kinds(counts ? 2 : 1, ir::ReduceKind::Sum);
  llvm::SmallVector<Type> types(kinds.size(), compute);
  ResultRange sums = kernel.loops(extents, spatial, kinds, types, [&](Nest &nest) {
    llvm::SmallVector<Value> yields = {toCompute(nest.b, nest.loc, nest.load(kernel.input(0), at, mask))};
    if (counts)
      yields.push_back(nest.b.create<arith::SelectOp>(nest.loc, nest.inSet(countMask), nest.constantOf(compute, 1),
                                                      nest.constantOf(compute, 0)));
    return yields;
  });
  int64_t size = 1;
  for (int64_t extent : op.getKernel())
    size *= extent;
  return lowered(kernel.map(to, element, [&](Nest &nest) {
    Value total = nest.load(sums[0], nest.dims());
    Value count = nest.constantOf(compute, static_cast<double>(size));
    if (counts) {
      // Nothing in the window: 0 / 1.
      count = nest.b.create<arith::MaximumFOp>(nest.loc, nest.load(sums[1], nest.dims()), nest.constantOf(compute, 1));
    }
    return fromCompute(nest.b, nest.loc, nest.b.create<arith::DivFOp>(nest.loc, total, count), element);
  }));
}

} // namespace

LoweredValues lowerPool(Operation *op, KernelBuilder &kernel) {
  if (auto pool = dyn_cast<ir::MaxPoolOp>(op))
    return lowerPoolOp(pool, kernel, /*isMax=*/true, false);
  auto pool = cast<ir::AvgPoolOp>(op);
  return lowerPoolOp(pool, kernel, /*isMax=*/false, pool.getCountIncludePad());
}

} // namespace tcc::codegen
