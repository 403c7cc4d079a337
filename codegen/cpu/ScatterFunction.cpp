//===- ScatterFunction.cpp - the function that does a scatter's updates ----===//
//
// Points that differ along a dimension which is an index of the result as it is never meet: work items run over those.
// Within an item updates come in the order of the nest, so that the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IntegerSet.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

// Positions are dimensions from here on, beyond those of opaque indices.
constexpr unsigned kFirstPosition = kFirstOpaqueDim + 1000000;

constexpr int64_t kItemElements = 512;
// Elements of a contiguous dimension in an item where other dimensions do not give enough items.
constexpr int64_t kBlock = 256;
constexpr int64_t kFewItems = 8;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

Value combine(OpBuilder &b, Location loc, ir::ScatterOp scatter, Value old, Value update) {
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

} // namespace

// The updated element, as an offset over the nest's dimensions and the positions, is one of the nest's accesses.
void LoopFunction::addTarget(LoopNest &nest) {
  ir::ScatterOp scatter = group.scatter;
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
  used.insert({scatter.getY(), tensors.buffer.lookup(scatter.getY())});
}

bool LoopFunction::dependsOn(const LoopNest &nest, AffineExpr expr, unsigned dim) {
  if (expr.isFunctionOfDim(dim))
    return true;
  for (auto [i, value] : llvm::enumerate(nest.opaque))
    if (expr.isFunctionOfDim(kFirstOpaqueDim + i) && dependsOn(nest, value, dim))
      return true;
  return false;
}

// Whether a value of the body may differ along a dimension.
bool LoopFunction::dependsOn(const LoopNest &nest, Value value, unsigned dim) {
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

LoopFunction::ScatterItems LoopFunction::cutScatter(const LoopNest &nest) {
  ScatterItems items;
  ir::ScatterOp scatter = group.scatter;
  AffineExpr target = nest.offset.lookup(scatter);
  IndexSimplifier simplifier = nest.simplifier();
  // Dimensions that are indices of the result as they are, unless merged with another.
  llvm::SmallVector<bool> meets(nest.numDims(), false), separate(nest.numDims(), false);
  for (BlockArgument argument : nest.op.getBody().getArguments()) {
    AffineExpr plain = getAffineDimExpr(argument.getArgNumber(), mlir);
    bool isPlain = llvm::is_contained(scatter.getMap().getResults(), plain);
    for (unsigned dim = 0; dim < nest.numDims(); ++dim)
      if (nest.index.lookup(argument).isFunctionOfDim(dim))
        (isPlain ? separate : meets)[dim] = true;
  }
  llvm::SmallVector<unsigned> parallel;
  int inner = -1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim) {
    if (!separate[dim] || meets[dim])
      continue;
    AffineExpr stride = simplifier.stride(target, dim);
    if (stride && ir::getConstant(stride) == 1 && nest.constantExtent(dim) != 1)
      inner = dim;
    else
      parallel.push_back(dim);
  }

  // Lanes: the same positions for all, side by side in the result.
  if (inner >= 0) {
    bool same = true;
    auto points = nest.op.getBody().front().getTerminator()->getOperands();
    for (Value position : points.drop_back())
      same &= !dependsOn(nest, position, inner);
    if (auto it = nest.conditions.find(scatter); it != nest.conditions.end())
      for (AffineExpr expr : it->second.exprs)
        same &= !dependsOn(nest, expr, inner);
    NestPlan &plan = items.plan;
    int64_t lanes = 1;
    if (same) {
      // Positions are the same in all lanes: the widest of the rest decides.
      int64_t bits = computeType(elementOf(scatter.getY())).getIntOrFloatBitWidth();
      for (Operation &op : nest.op.getBody().front().without_terminator())
        if (Type type = op.getResult(0).getType(); type.isIntOrFloat() && dependsOn(nest, op.getResult(0), inner))
          bits = std::max<int64_t>(bits, computeType(type).getIntOrFloatBitWidth());
      lanes = backend.cpu().lanes(std::max<int64_t>(bits, 8));
      bool narrowMasks = backend.cpu().vectorBits == 512;
      plan.maskedTail = BodyEmitter::canMask(nest, inner, narrowMasks) &&
                        (narrowMasks || storageType(elementOf(scatter.getY())).getIntOrFloatBitWidth() >= 32);
      if (std::optional<int64_t> extent = nest.constantExtent(inner); extent && *extent < lanes)
        lanes = plan.maskedTail ? llvm::bit_ceil(static_cast<uint64_t>(*extent))
                                : llvm::bit_floor(static_cast<uint64_t>(*extent));
    }
    if (lanes > 1) {
      plan.laneDim = inner;
      plan.lanes = lanes;
      int64_t unroll = bodyCost(nest) <= 24 ? 2 : 1;
      plan.unroll = std::clamp<int64_t>(nest.constantExtent(inner).value_or(64) / lanes, 1, unroll);
    } else {
      plan = {};
    }
  }

  // As many dimensions to an item as it takes to be worth one.
  int64_t elements = 1, count = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (!llvm::is_contained(parallel, dim))
      elements = std::min<int64_t>(
          INT32_MAX,
          elements * std::max<int64_t>(1, std::min<int64_t>(INT32_MAX, nest.constantExtent(dim).value_or(64))));
  while (!parallel.empty() && elements < kItemElements && nest.constantExtent(parallel.back()))
    elements *= std::max<int64_t>(1, nest.constantExtent(parallel.pop_back_val()).value());
  for (unsigned dim : parallel)
    count = std::min<int64_t>(
        kFewItems, count * std::max<int64_t>(1, std::min<int64_t>(kFewItems, nest.constantExtent(dim).value_or(64))));
  items.outer = parallel;
  if (inner >= 0 && count < kFewItems && nest.constantExtent(inner).value_or(INT64_MAX) > kBlock) {
    items.blockDim = inner;
    items.block = kBlock;
  }
  return items;
}

void LoopFunction::emitUpdate(const LoopNest &nest, const Point &point, ValueRange results) {
  ir::ScatterOp scatter = group.scatter;
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
  auto emit = [&](AffineExpr expr) {
    return affine::expandAffineExpr(b, loc, expr.replace(compact), dims, context.symbols);
  };
  auto update = [&] {
    Value offset = emit(nest.offset.lookup(scatter)), memref = memrefOf(scatter.getY()), value = results.back();
    Type element = elementOf(scatter.getY());
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
      value = combine(b, loc, scatter, fromStorage(b, loc, old, element), value);
    }
    value = toStorage(b, loc, value, element);
    if (!vector)
      b.create<memref::StoreOp>(loc, value, memref, offset);
    else if (point.mask)
      b.create<vector::MaskedStoreOp>(loc, memref, offset, point.mask, value);
    else
      b.create<vector::StoreOp>(loc, value, memref, offset);
  };
  auto it = nest.conditions.find(scatter);
  if (it == nest.conditions.end())
    return update();
  Value holds = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
  for (auto [expr, equal] : llvm::zip(it->second.exprs, it->second.equal)) {
    auto predicate = equal ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    holds = b.createOrFold<arith::AndIOp>(loc, holds,
                                          b.createOrFold<arith::CmpIOp>(loc, predicate, emit(expr), constant(0)));
  }
  auto branch = b.create<scf::IfOp>(loc, holds, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  update();
}

void LoopFunction::emitScatter(llvm::StringRef name, KernelCode &code) {
  LoopNest &nest = nests[0];
  ScatterItems items = cutScatter(nest);
  begin(name.str() + "_updates", {}, {});
  NestEmitter emitter(b, nest, context, items.plan);
  Exprs extents;
  for (unsigned dim : items.outer)
    extents.push_back(nest.extents[dim]);
  if (items.blockDim >= 0)
    extents.push_back(nest.extents[items.blockDim].ceilDiv(items.block));
  forItems([&](Value item) {
    Values indices = delinearize(item, extents);
    Values dims(nest.numDims());
    for (auto [i, dim] : llvm::enumerate(items.outer))
      dims[dim] = indices[i];
    if (items.blockDim >= 0) {
      Value low = b.create<arith::MulIOp>(loc, indices.back(), constant(items.block));
      Value high = b.create<arith::AddIOp>(loc, low, constant(items.block));
      emitter.setRange(items.blockDim, low, b.create<arith::MinSIOp>(loc, high, extent(nest.extents[items.blockDim])));
    }
    emitter.emit(dims,
                 [&](BodyEmitter &, const Point &point, ValueRange results) { emitUpdate(nest, point, results); });
  });
  int64_t perItem = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (!llvm::is_contained(items.outer, dim)) {
      int64_t inside = static_cast<int>(dim) == items.blockDim ? items.block : nest.constantExtent(dim).value_or(64);
      if (llvm::MulOverflow(perItem, inside, perItem))
        perItem = INT64_MAX;
    }
  LaunchSpec spec = launch(ir::product(mlir, extents), perItem);
  spec.function = finish();
  code.launches.push_back(std::move(spec));
  code.choices.push_back(describe(items.plan) + ", " + std::to_string(perItem) + " updates an item");
}

} // namespace tcc::codegen
