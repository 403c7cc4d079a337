//===- LowerScatter.cpp - scatters as a copy and updates in order ----------===//
//
// Three nests at most: what is scattered into (a copy, which takes in what makes the operand, and which memory planning
// makes unnecessary where the operand is not needed any more), the updates with their checked positions, and, for sums
// and products of half floats, which are kept in float32 until the last update, the rounding of the result.
//
//===----------------------------------------------------------------------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// A scatter whose updates are the elements of `nest`.
struct Scatter {
  Operation *op;
  KernelBuilder &kernel;
  ir::ScatterKind kind;
  ir::Exprs extents; ///< of the nest: those that the updates must have
  ir::Exprs at;      ///< one for each axis of x, over the nest's dimensions and the positions
  ir::Exprs mask;    ///< must not be negative where an element is updated

  Value x() const { return op->getOperand(0); }
  Value updates() const { return op->getOperand(2); }
  bool isProvably(AffineExpr expr) const {
    return ir::getValueRange(ir::simplifyExtent(expr), ir::getSymbols(op)).first >= 0;
  }

  /// Loop `dim` must stay below an extent that may be smaller: reported, and part of `conditions`.
  void requireBelow(Nest &nest, unsigned dim, AffineExpr extent, ir::Exprs &conditions) const {
    if (isProvably(extent - extents[dim]))
      return;
    conditions.push_back(extent - 1 - nest.dim(dim));
    check(nest, nest.index(dim), extent);
  }
  static void check(Nest &nest, Value index, AffineExpr extent) {
    nest.b.create<ir::BoundsCheckOp>(nest.loc, nest.b.getIndexType(), index,
                                     ir::ExtentsAttr::get(nest.b.getContext(), extent),
                                     /*exact=*/nest.b.getUnitAttr(), /*when=*/Value());
  }

  /// The update at a point. Updates of other extents than those that they must have are reported, not read.
  Value load(Nest &nest) const {
    ir::Exprs conditions;
    for (auto [dim, given] : llvm::enumerate(extentsOf(updates()))) {
      requireBelow(nest, dim, given, conditions);
      if (!isProvably(extents[dim] - given))
        check(nest, nest.apply(given - 1), extents[dim]);
    }
    return nest.load(kernel.input(2), nest.dims(), conditions);
  }

  /// `positions` emits the computed positions of a point.
  Value build(llvm::function_ref<llvm::SmallVector<Value>(Nest &)> positions) {
    OpBuilder &b = kernel.builder();
    Type element = elementOf(x());
    bool accumulates = kind == ir::ScatterKind::Add || kind == ir::ScatterKind::Mul;
    Type inner = accumulates ? computeType(element) : signless(element);
    auto widen = [&](Nest &nest, Value scalar) {
      return scalar.getType() == inner ? scalar : toCompute(nest.b, nest.loc, scalar);
    };
    Value into = kernel.map(extentsOf(x()), inner,
                            [&](Nest &nest) { return widen(nest, nest.load(kernel.input(0), nest.dims())); });
    unsigned numPositions = 0;
    auto body = [&](Nest &nest) {
      llvm::SmallVector<Value> yields;
      for (Value position : positions(nest))
        yields.push_back(nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getI64Type(), position));
      numPositions = yields.size();
      yields.push_back(widen(nest, load(nest)));
      return yields;
    };
    llvm::SmallVector<Type> types(numComputed(), b.getI64Type());
    types.push_back(inner);
    ResultRange points = kernel.loops(extents, 0, {}, types, body);
    unsigned numSymbols = ir::getSymbols(op).size(), numDims = extents.size() + numPositions;
    auto map = AffineMap::get(numDims, numSymbols, at, b.getContext());
    IntegerSetAttr set;
    if (!mask.empty())
      set =
          IntegerSetAttr::get(IntegerSet::get(numDims, numSymbols, mask, llvm::SmallVector<bool>(mask.size(), false)));
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    Value y = b.create<ir::ScatterOp>(kernel.loc(), into.getType(), kind, isUnsigned, points.back(), into,
                                      points.drop_back(), map, set);
    if (inner == signless(element))
      return y;
    return kernel.map(extentsOf(x()), element,
                      [&](Nest &nest) { return fromCompute(nest.b, nest.loc, nest.load(y, nest.dims()), element); });
  }

  /// How many axes take a computed position.
  unsigned numComputed() const {
    unsigned count = 0;
    for (AffineExpr expr : at)
      count += cast<AffineDimExpr>(expr).getPosition() >= extents.size();
    return count;
  }
};

} // namespace

LoweredValues lowerScatterElements(ir::ScatterElementsOp op, KernelBuilder &kernel) {
  ir::Exprs into = extentsOf(op.getX());
  unsigned axis = op.getAxis(), rank = into.size();
  Scatter scatter{op, kernel, op.getKind(), extentsOf(op.getIndices()), {}, {}};
  if (axis >= rank)
    return failure();
  for (unsigned i = 0; i < rank; ++i)
    scatter.at.push_back(getAffineDimExpr(i == axis ? rank : i, kernel.context()));
  maskEmpty(op, into[axis], scatter.mask);
  // Along the other axes there may be fewer indices, not more.
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis && !scatter.isProvably(into[i] - scatter.extents[i]))
      scatter.mask.push_back(into[i] - 1 - getAffineDimExpr(i, kernel.context()));
  return lowered(scatter.build([&](Nest &nest) -> llvm::SmallVector<Value> {
    ir::Exprs reported; // the mask has them
    for (unsigned i = 0; i < rank; ++i)
      if (i != axis)
        scatter.requireBelow(nest, i, into[i], reported);
    Value scalar = nest.load(kernel.input(1), nest.dims());
    return {checkedIndex(nest, scalar, elementOf(op.getIndices()), into[axis])};
  }));
}

LoweredValues lowerScatterNd(ir::ScatterNdOp op, KernelBuilder &kernel) {
  ir::Exprs into = extentsOf(op.getX()), indices = extentsOf(op.getIndices());
  int64_t tuple = ir::getConstant(indices.back()).value_or(0);
  if (tuple == 0)
    return failure(); // a copy of the last update
  unsigned outer = indices.size() - 1;
  Scatter scatter{op, kernel, op.getKind(), ir::Exprs(indices.begin(), indices.end() - 1), {}, {}};
  scatter.extents.append(into.begin() + tuple, into.end());
  unsigned rank = scatter.extents.size();
  for (int64_t i = 0; i < tuple; ++i) {
    scatter.at.push_back(getAffineDimExpr(rank + i, kernel.context()));
    maskEmpty(op, into[i], scatter.mask);
  }
  for (unsigned i = outer; i < rank; ++i)
    scatter.at.push_back(getAffineDimExpr(i, kernel.context()));
  return lowered(scatter.build([&](Nest &nest) {
    llvm::SmallVector<Value> positions;
    for (int64_t i = 0; i < tuple; ++i) {
      ir::Exprs at = nest.dims(outer);
      at.push_back(nest.constant(i));
      positions.push_back(checkedIndex(nest, nest.load(kernel.input(1), at), elementOf(op.getIndices()), into[i]));
    }
    return positions;
  }));
}

} // namespace tcc::codegen
