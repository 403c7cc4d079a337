//===- LowerNorm.cpp - softmax and normalisations as loops over rows ------===//
#include "codegen/fusion/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Rows: the axes of a tensor that are not normalised over, in order, then the ones that are.
struct Rows {
  ir::Exprs outer, extents;
  unsigned numReductions = 0;
  ir::Exprs at;    ///< the tensor's indices over (rows, normalised)
  ir::Exprs rowOf; ///< the row's indices over the tensor's own
};

Rows splitRows(ArrayRef<AffineExpr> extents, unsigned firstAxis, unsigned numAxes, MLIRContext *context) {
  Rows rows;
  rows.numReductions = numAxes;
  rows.at.resize(extents.size());
  for (unsigned i = 0; i < extents.size(); ++i) {
    if (i >= firstAxis && i < firstAxis + numAxes)
      continue;
    rows.at[i] = getAffineDimExpr(rows.outer.size(), context);
    rows.rowOf.push_back(getAffineDimExpr(i, context));
    rows.outer.push_back(extents[i]);
  }
  rows.extents = rows.outer;
  for (unsigned i = firstAxis; i < firstAxis + numAxes; ++i) {
    rows.at[i] = getAffineDimExpr(rows.extents.size(), context);
    rows.extents.push_back(extents[i]);
  }
  return rows;
}

/// 1 / number of elements of a row, as a scalar.
Value reciprocalCount(Nest &nest, const Rows &rows, Type type) {
  AffineExpr count = ir::product(nest.b.getContext(), ArrayRef(rows.extents).drop_front(rows.outer.size()));
  if (std::optional<int64_t> constant = ir::getConstant(count))
    return nest.constantOf(type, 1.0 / static_cast<double>(*constant));
  Value integer = nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getI64Type(), nest.apply(count));
  Value number = nest.b.create<arith::SIToFPOp>(nest.loc, type, integer);
  return nest.b.create<arith::DivFOp>(nest.loc, nest.constantOf(type, 1), number);
}

} // namespace

LoweredValues lowerSoftmax(Operation *op, KernelBuilder &kernel) {
  bool isLog = isa<ir::LogSoftmaxOp>(op);
  Value x = op->getOperand(0);
  int64_t axis = isLog ? cast<ir::LogSoftmaxOp>(op).getAxis() : cast<ir::SoftmaxOp>(op).getAxis();
  Type element = elementOf(x), compute = computeType(element);
  ir::Exprs extents = extentsOf(x);
  Rows rows = splitRows(extents, axis, 1, kernel.context());
  Value most = kernel.reduce(rows.extents, 1, ir::ReduceKind::Max, compute,
                             [&](Nest &nest) { return nest.loadCompute(kernel.input(0), rows.at); });
  auto shifted = [&](Nest &nest, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> row) -> Value {
    return nest.b.create<arith::SubFOp>(nest.loc, nest.loadCompute(kernel.input(0), at), nest.load(most, row));
  };
  Value sum = kernel.reduce(rows.extents, 1, ir::ReduceKind::Sum, compute, [&](Nest &nest) -> Value {
    return nest.b.create<math::ExpOp>(nest.loc, shifted(nest, rows.at, nest.dims(rows.outer.size())));
  });
  // One division (or logarithm) a row.
  Value scale = kernel.map(rows.outer, compute, [&](Nest &nest) -> Value {
    Value total = nest.load(sum, nest.dims());
    if (isLog)
      return nest.b.create<math::LogOp>(nest.loc, total);
    return nest.b.create<arith::DivFOp>(nest.loc, nest.constantOf(compute, 1), total);
  });
  return lowered(kernel.map(extents, element, [&](Nest &nest) {
    Value value = shifted(nest, nest.dims(), rows.rowOf), factor = nest.load(scale, rows.rowOf);
    if (isLog)
      value = nest.b.create<arith::SubFOp>(nest.loc, value, factor);
    else
      value = nest.b.create<arith::MulFOp>(nest.loc, nest.b.create<math::ExpOp>(nest.loc, value), factor);
    return fromCompute(nest.b, nest.loc, value, element);
  }));
}

LoweredValues lowerLayerNorm(ir::LayerNormOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getX()), compute = computeType(element);
  ir::Exprs extents = extentsOf(op.getX());
  Rows rows = splitRows(extents, op.getAxis(), extents.size() - op.getAxis(), kernel.context());
  unsigned numRows = rows.outer.size();
  Value sum = kernel.reduce(rows.extents, rows.numReductions, ir::ReduceKind::Sum, compute,
                            [&](Nest &nest) { return nest.loadCompute(kernel.input(0), rows.at); });
  Value mean = kernel.map(rows.outer, compute, [&](Nest &nest) -> Value {
    return nest.b.create<arith::MulFOp>(nest.loc, nest.load(sum, nest.dims()), reciprocalCount(nest, rows, compute));
  });
  auto centred = [&](Nest &nest, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> row) -> Value {
    return nest.b.create<arith::SubFOp>(nest.loc, nest.loadCompute(kernel.input(0), at), nest.load(mean, row));
  };
  Value squares =
      kernel.reduce(rows.extents, rows.numReductions, ir::ReduceKind::Sum, compute, [&](Nest &nest) -> Value {
        Value value = centred(nest, rows.at, nest.dims(numRows));
        return nest.b.create<arith::MulFOp>(nest.loc, value, value);
      });
  Value scale = kernel.map(rows.outer, compute, [&](Nest &nest) -> Value {
    Value variance =
        nest.b.create<arith::MulFOp>(nest.loc, nest.load(squares, nest.dims()), reciprocalCount(nest, rows, compute));
    Value sum =
        nest.b.create<arith::AddFOp>(nest.loc, variance, nest.constantOf(compute, op.getEpsilon().convertToDouble()));
    return nest.b.create<arith::DivFOp>(nest.loc, nest.constantOf(compute, 1),
                                        nest.b.create<math::SqrtOp>(nest.loc, sum));
  });
  return lowered(kernel.map(extents, element, [&](Nest &nest) {
    Value value =
        nest.b.create<arith::MulFOp>(nest.loc, centred(nest, nest.dims(), rows.rowOf), nest.load(scale, rows.rowOf));
    return fromCompute(nest.b, nest.loc, value, element);
  }));
}

LoweredValues lowerRmsNorm(ir::RmsNormOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getX()), compute = computeType(element);
  ir::Exprs extents = extentsOf(op.getX());
  Rows rows = splitRows(extents, op.getAxis(), extents.size() - op.getAxis(), kernel.context());
  Value squares =
      kernel.reduce(rows.extents, rows.numReductions, ir::ReduceKind::Sum, compute, [&](Nest &nest) -> Value {
        Value value = nest.loadCompute(kernel.input(0), rows.at);
        return nest.b.create<arith::MulFOp>(nest.loc, value, value);
      });
  Value scale = kernel.map(rows.outer, compute, [&](Nest &nest) -> Value {
    Value mean =
        nest.b.create<arith::MulFOp>(nest.loc, nest.load(squares, nest.dims()), reciprocalCount(nest, rows, compute));
    Value sum =
        nest.b.create<arith::AddFOp>(nest.loc, mean, nest.constantOf(compute, op.getEpsilon().convertToDouble()));
    return nest.b.create<arith::DivFOp>(nest.loc, nest.constantOf(compute, 1),
                                        nest.b.create<math::SqrtOp>(nest.loc, sum));
  });
  return lowered(kernel.map(extents, element, [&](Nest &nest) {
    Value value = nest.b.create<arith::MulFOp>(nest.loc, nest.loadCompute(kernel.input(0), nest.dims()),
                                               nest.load(scale, rows.rowOf));
    return fromCompute(nest.b, nest.loc, value, element);
  }));
}

} // namespace tcc::codegen
