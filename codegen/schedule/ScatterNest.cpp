//===- ScatterNest.cpp - loops that make a scatter's updates --------------===//
#include "codegen/schedule/ScatterNest.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen {

void addScatterTarget(LoopNest &nest, ir::ScatterOp scatter) {
  MLIRContext *mlir = nest.op.getContext();
  unsigned rank = nest.numDims();
  IndexSimplifier simplifier = nest.simplifier();
  auto place = [&](AffineExpr expr) {
    Exprs dims;
    for (unsigned i = 0; i < rank + scatter.getPositions().size(); ++i)
      dims.push_back(getAffineDimExpr(i < rank ? i : kFirstPosition + i - rank, mlir));
    return simplifier.simplify(expr.replaceDims(dims));
  };
  Exprs coordinate;
  for (AffineExpr expr : scatter.getMap().getResults())
    coordinate.push_back(place(expr));
  nest.offset[scatter] = simplifier.simplify(rowMajorOffset(coordinate, ir::getExtents(scatter.getType()), 0, mlir));
  if (scatter.getMask()) {
    IntegerSet set = *scatter.getMask();
    Conditions conditions;
    for (auto [constraint, equal] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
      conditions.exprs.push_back(place(constraint));
      conditions.equal.push_back(equal);
    }
    nest.conditions[scatter] = conditions;
  }
}

llvm::SmallVector<bool> separateDims(const LoopNest &nest, ir::ScatterOp scatter) {
  MLIRContext *mlir = nest.op.getContext();
  llvm::SmallVector<bool> meets(nest.numDims(), false), separate(nest.numDims(), false);
  for (BlockArgument argument : nest.op.getBody().getArguments()) {
    AffineExpr plain = getAffineDimExpr(argument.getArgNumber(), mlir);
    bool isPlain = llvm::is_contained(scatter.getMap().getResults(), plain);
    for (unsigned dim = 0; dim < nest.numDims(); ++dim)
      if (nest.index.lookup(argument).isFunctionOfDim(dim))
        (isPlain ? separate : meets)[dim] = true;
  }
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    separate[dim] = separate[dim] && !meets[dim];
  return separate;
}

ScatterSplit splitScatter(const LoopNest &nest, ir::ScatterOp scatter) {
  AffineExpr target = nest.offset.lookup(scatter);
  IndexSimplifier simplifier = nest.simplifier();
  ScatterSplit split;
  llvm::SmallVector<bool> separate = separateDims(nest, scatter);
  for (unsigned dim = 0; dim < nest.numDims(); ++dim) {
    if (!separate[dim])
      continue;
    AffineExpr stride = simplifier.stride(target, dim);
    if (stride && ir::getConstant(stride) == 1 && nest.constantExtent(dim) != 1)
      split.inner = dim;
    else
      split.outer.push_back(dim);
  }
  return split;
}

bool dependsOn(const LoopNest &nest, AffineExpr expr, unsigned dim) {
  if (expr.isFunctionOfDim(dim))
    return true;
  for (auto [i, value] : llvm::enumerate(nest.opaque))
    if (expr.isFunctionOfDim(kFirstOpaqueDim + i) && dependsOn(nest, value, dim))
      return true;
  return false;
}

// Whether a value of the body may differ along a dimension.
bool dependsOn(const LoopNest &nest, Value value, unsigned dim) {
  Operation *op = value.getDefiningOp();
  auto holds = [&](Operation *op) {
    auto it = nest.conditions.find(op);
    return it != nest.conditions.end() &&
           llvm::any_of(it->second.exprs, [&](AffineExpr expr) { return dependsOn(nest, expr, dim); });
  };
  if (auto load = llvm::dyn_cast_or_null<ir::LoadOp>(op))
    return dependsOn(nest, nest.offset.lookup(load), dim) || holds(load) ||
           (load.getFill() && dependsOn(nest, load.getFill(), dim));
  if (auto inSet = llvm::dyn_cast_or_null<ir::InSetOp>(op))
    return holds(inSet);
  if (!op || llvm::isa<ir::ApplyOp>(op))
    return dependsOn(nest, nest.index.lookup(value), dim);
  return llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOn(nest, operand, dim); });
}

Value combineUpdate(OpBuilder &b, Location loc, ir::ScatterOp scatter, Value old, Value update) {
  Type type = getElementTypeOrSelf(old.getType());
  bool isFloat = llvm::isa<FloatType>(type), isUnsigned = scatter.getIsUnsigned();
  auto make = [&](auto *op) -> Value { return b.create<std::remove_pointer_t<decltype(op)>>(loc, old, update); };
  switch (scatter.getKind()) {
  case ir::ScatterKind::Add:
    if (type.isInteger(1))
      return make(static_cast<arith::OrIOp *>(nullptr));
    return isFloat ? make(static_cast<arith::AddFOp *>(nullptr)) : make(static_cast<arith::AddIOp *>(nullptr));
  case ir::ScatterKind::Mul:
    return isFloat ? make(static_cast<arith::MulFOp *>(nullptr)) : make(static_cast<arith::MulIOp *>(nullptr));
  case ir::ScatterKind::Max:
    if (isFloat)
      return make(static_cast<arith::MaximumFOp *>(nullptr));
    return isUnsigned ? make(static_cast<arith::MaxUIOp *>(nullptr)) : make(static_cast<arith::MaxSIOp *>(nullptr));
  case ir::ScatterKind::Min:
    if (isFloat)
      return make(static_cast<arith::MinimumFOp *>(nullptr));
    return isUnsigned ? make(static_cast<arith::MinUIOp *>(nullptr)) : make(static_cast<arith::MinSIOp *>(nullptr));
  default:
    return update;
  }
}

void atScatterTarget(OpBuilder &b, const LoopNest &nest, ir::ScatterOp scatter, const Point &point, ValueRange results,
                     llvm::ArrayRef<Value> symbols, llvm::function_ref<void(Value offset)> use) {
  Location loc = nest.op.getLoc();
  MLIRContext *mlir = nest.op.getContext();
  // Positions are the same in all lanes.
  Values dims = point.dims;
  for (Value position : results.drop_back()) {
    if (llvm::isa<VectorType>(position.getType()))
      position = b.create<vector::ExtractOp>(loc, position, 0);
    dims.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), position));
  }
  llvm::DenseMap<AffineExpr, AffineExpr> compact;
  for (unsigned i = 0; i < results.size() - 1; ++i)
    compact[getAffineDimExpr(kFirstPosition + i, mlir)] = getAffineDimExpr(nest.numDims() + i, mlir);
  auto emit = [&](AffineExpr expr) { return affine::expandAffineExpr(b, loc, expr.replace(compact), dims, symbols); };
  auto it = nest.conditions.find(scatter);
  if (it == nest.conditions.end())
    return use(emit(nest.offset.lookup(scatter)));
  Value holds = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
  for (auto [expr, equal] : llvm::zip(it->second.exprs, it->second.equal)) {
    auto predicate = equal ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    holds = b.createOrFold<arith::AndIOp>(
        loc, holds,
        b.createOrFold<arith::CmpIOp>(loc, predicate, emit(expr), b.create<arith::ConstantIndexOp>(loc, 0)));
  }
  auto branch = b.create<scf::IfOp>(loc, holds, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  use(emit(nest.offset.lookup(scatter)));
}

void emitScatterUpdate(OpBuilder &b, const LoopNest &nest, ir::ScatterOp scatter, const Point &point,
                       ValueRange results, Value memref, llvm::ArrayRef<Value> symbols, bool nativeBf16) {
  Location loc = nest.op.getLoc();
  atScatterTarget(b, nest, scatter, point, results, symbols, [&](Value offset) {
    Value value = results.back();
    Type element = getElementTypeOrSelf(scatter.getY().getType());
    auto vector = llvm::dyn_cast<VectorType>(value.getType());
    if (scatter.getKind() != ir::ScatterKind::Assign) {
      Value old;
      auto stored = vector ? VectorType::get(vector.getShape(), storageType(element)) : VectorType();
      if (!vector)
        old = b.create<memref::LoadOp>(loc, memref, offset);
      else if (point.mask)
        old = b.create<vector::MaskedLoadOp>(loc, stored, memref, offset, point.mask,
                                             b.create<arith::ConstantOp>(loc, b.getZeroAttr(stored)));
      else
        old = b.create<vector::LoadOp>(loc, stored, memref, offset);
      value = combineUpdate(b, loc, scatter, fromStorage(b, loc, old, element), value);
    }
    value = toStorage(b, loc, value, element, nativeBf16);
    if (!vector)
      b.create<memref::StoreOp>(loc, value, memref, offset);
    else if (point.mask)
      b.create<vector::MaskedStoreOp>(loc, memref, offset, point.mask, value);
    else
      b.create<vector::StoreOp>(loc, value, memref, offset);
  });
}

} // namespace tcc::codegen
