//===- Body.cpp -----------------------------------------------------------===//
#include "codegen/schedule/template/Body.h"

#include <numeric>

#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen::gemm {

Value BodyEmitter::materialize(AffineExpr expr) {
  if (point.laneDim < 0 || !expr.isFunctionOfDim(point.laneDim))
    return e.affine(expr, point.dims, point.symbols);
  VectorType type = e.vector(e.b.getIndexType(), point.lanes);
  if (auto stride = laneStride(expr, point.laneDim, point.lanes)) {
    Value base = e.affine(expr, point.dims, point.symbols);
    if (*stride == 0)
      return base;
    SmallVector<int64_t> steps(point.lanes);
    for (int64_t i = 0; i < point.lanes; ++i)
      steps[i] = i * *stride;
    Value step = e.b.create<arith::ConstantOp>(e.loc, DenseIntElementsAttr::get(type, [&] {
                                                 SmallVector<APInt> bits;
                                                 for (int64_t s : steps)
                                                   bits.push_back(APInt(64, s, true));
                                                 return bits;
                                               }()));
    return e.b.create<arith::AddIOp>(e.loc, e.splat(base, point.lanes), step);
  }
  Value result = e.zero(type);
  for (int64_t i = 0; i < point.lanes; ++i)
    result =
        e.b.create<vector::InsertOp>(e.loc, e.affine(expr, laneDims(i), point.symbols), result, ArrayRef<int64_t>{i});
  return result;
}

Values BodyEmitter::laneDims(int64_t lane) {
  Values dims = point.dims;
  if (point.laneDim >= 0) {
    Value offset = e.c(lane);
    if (point.count && lane > 0)
      offset = e.min(offset, e.sub(point.count, e.c(1)));
    dims[point.laneDim] = e.add(dims[point.laneDim], offset);
  }
  return dims;
}

BodyEmitter::Index BodyEmitter::indexOf(Value value) {
  auto known = indices.find(value);
  if (known != indices.end())
    return known->second;
  return {AffineExpr(), values.lookup(value)};
}

std::pair<Exprs, Values> BodyEmitter::splitIndices(ValueRange operands) {
  Exprs exprs;
  Values extra;
  for (Value operand : operands) {
    Index index = indexOf(operand);
    if (!index.expr) {
      exprs.push_back(getAffineDimExpr(point.dims.size() + extra.size(), e.b.getContext()));
      extra.push_back(index.value);
    } else {
      exprs.push_back(index.expr);
    }
  }
  return {exprs, extra};
}

Value BodyEmitter::valueOf(Value value) {
  if (Value known = values.lookup(value))
    return known;
  auto index = indices.find(value);
  assert(index != indices.end() && "operands come before their uses");
  Value result = index->second.expr ? materialize(index->second.expr) : index->second.value;
  values[value] = result;
  return result;
}

// A set over dims known as scalars.
Value BodyEmitter::scalarCondition(IntegerSet set, ValueRange dims) {
  Value all;
  for (auto [i, constraint] : llvm::enumerate(set.getConstraints())) {
    Value value = e.affine(constraint, dims, point.symbols);
    Value holds = set.isEq(i) ? e.eq(value, e.c(0)) : e.ge(value, e.c(0));
    all = all ? e.both(all, holds) : holds;
  }
  return all ? all : Value(e.b.create<arith::ConstantOp>(e.loc, e.b.getBoolAttr(true)));
}

// A set whose dims are expressions of the tile (extra[i] null) or computed values: a scalar or vector of i1.
Value BodyEmitter::condition(IntegerSet set, ArrayRef<AffineExpr> dims, ArrayRef<Value> extra) {
  bool computed = llvm::any_of(extra, [](Value v) { return v && isa<VectorType>(v.getType()); });
  SmallVector<AffineExpr> exprs;
  for (AffineExpr constraint : set.getConstraints())
    exprs.push_back(simplify(substitute(constraint, dims)));
  bool regular = !computed && llvm::all_of(exprs, [&](AffineExpr expr) {
    return point.laneDim < 0 || laneStride(expr, point.laneDim, point.lanes).has_value();
  });
  Values all(point.dims);
  all.append(extra.begin(), extra.end());
  if (regular) {
    Value result;
    std::swap(point.dims, all);
    for (auto [i, expr] : llvm::enumerate(exprs)) {
      Value value = materialize(expr);
      Value zero = isa<VectorType>(value.getType()) ? e.zero(value.getType()) : e.c(0);
      Value holds = e.b.createOrFold<arith::CmpIOp>(
          e.loc, set.isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge, value, zero);
      if (!result)
        result = holds;
      else if (isa<VectorType>(holds.getType()) || isa<VectorType>(result.getType()))
        result = e.both(e.splat(result, point.lanes), e.splat(holds, point.lanes));
      else
        result = e.both(result, holds);
    }
    std::swap(point.dims, all);
    return result ? result : Value(e.b.create<arith::ConstantOp>(e.loc, e.b.getBoolAttr(true)));
  }
  Value result = e.zero(e.vector(e.b.getI1Type(), point.lanes));
  for (int64_t i = 0; i < point.lanes; ++i) {
    Values lane = laneDims(i);
    for (Value v : extra)
      lane.push_back(v && isa<VectorType>(v.getType()) ? e.lane(v, i) : v);
    Value holds;
    for (auto [c, expr] : llvm::enumerate(exprs)) {
      Value value = e.affine(expr, lane, point.symbols);
      Value one = set.isEq(c) ? e.eq(value, e.c(0)) : e.ge(value, e.c(0));
      holds = holds ? e.both(holds, one) : one;
    }
    result = e.b.create<vector::InsertOp>(e.loc, holds, result, ArrayRef<int64_t>{i});
  }
  return result;
}

// `coordinate` and the mask's dims are expressions over the tile's dims, followed by one dim for each of `extra`.
Value BodyEmitter::loadAt(Value tensor, ArrayRef<AffineExpr> coordinate, IntegerSet mask, Value fill,
                          ArrayRef<Value> extra) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  Value memref = buffers(tensor);
  Type compute = computeType(element), storage = cast<MemRefType>(memref.getType()).getElementType();
  AffineExpr offset = rowMajorOffset(coordinate, ir::getExtents(type), type.getContext());
  bool computed = llvm::any_of(extra, [](Value v) { return v && isa<VectorType>(v.getType()); });
  auto stride = computed            ? std::nullopt
                : point.laneDim < 0 ? std::optional<int64_t>(0)
                                    : laneStride(offset, point.laneDim, point.lanes);
  SmallVector<AffineExpr> maskDims;
  for (unsigned i = 0; mask && i < mask.getNumDims(); ++i)
    maskDims.push_back(getAffineDimExpr(i, type.getContext()));
  Value holds = mask ? condition(mask, maskDims, extra) : Value();
  Values dims(point.dims);
  dims.append(extra.begin(), extra.end());

  auto loadOne = [&](Value at) { return fromStorage(e.b, e.loc, e.load(memref, at), element); };

  bool vectorMask = holds && isa<VectorType>(holds.getType());
  if (stride == 0 && !vectorMask) {
    Value at = e.affine(offset, dims, point.symbols);
    if (!holds)
      return loadOne(at);
    Value other = fill ? fill : e.zero(compute);
    if (isa<VectorType>(other.getType())) {
      Value loaded = e.when(
          holds, TypeRange{compute}, [&] { return Values{loadOne(at)}; }, [&] { return Values{e.zero(compute)}; })[0];
      return e.select(holds, e.splat(loaded, point.lanes), other);
    }
    return e.when(holds, TypeRange{compute}, [&] { return Values{loadOne(at)}; }, [&] { return Values{other}; })[0];
  }
  if (stride == 1) {
    Value at = e.affine(offset, dims, point.symbols);
    Value lanes = point.mask;
    if (holds) {
      Value vectorHolds = e.splat(holds, point.lanes);
      lanes = lanes ? e.both(lanes, vectorHolds) : vectorHolds;
    }
    // A masked load whose base lies outside the buffer is fine: no lane outside is touched.
    Value loaded = fromStorage(e.b, e.loc, e.vload(memref, at, point.lanes, lanes), element);
    if (holds && fill)
      loaded = e.select(e.splat(holds, point.lanes), loaded, e.splat(fill, point.lanes));
    return loaded;
  }
  // Lane by lane.
  Value result = e.zero(e.vector(storage, point.lanes));
  for (int64_t i = 0; i < point.lanes; ++i) {
    Values lane = laneDims(i);
    for (Value v : extra)
      lane.push_back(v && isa<VectorType>(v.getType()) ? e.lane(v, i) : v);
    Value at = e.affine(offset, lane, point.symbols);
    Value loaded;
    if (holds)
      loaded = e.when(
          vectorMask ? e.lane(holds, i) : holds, TypeRange{storage}, [&] { return Values{e.load(memref, at)}; },
          [&] { return Values{e.zero(storage)}; })[0];
    else
      loaded = e.load(memref, at);
    result = e.b.create<vector::InsertOp>(e.loc, loaded, result, ArrayRef<int64_t>{i});
  }
  result = fromStorage(e.b, e.loc, result, element);
  if (holds && fill)
    result = e.select(e.splat(holds, point.lanes), result, e.splat(fill, point.lanes));
  return result;
}

Value BodyEmitter::element(Value tensor, ArrayRef<AffineExpr> coordinate) {
  if (Value known = bound.lookup(tensor))
    return narrowed(known, cast<RankedTensorType>(tensor.getType()).getElementType());
  if (auto loops = tensor.getDefiningOp<ir::LoopsOp>())
    return evaluate(loops, coordinate)[cast<OpResult>(tensor).getResultNumber()];
  return loadAt(tensor, coordinate, IntegerSet(), Value(), {});
}

Value BodyEmitter::load(ir::LoadOp op) {
  AffineMap map = op.getMap();
  auto [dims, extra] = splitIndices(op.getIndices());
  Exprs coordinate;
  for (AffineExpr result : map.getResults())
    coordinate.push_back(simplify(substitute(result, dims)));
  Value tensor = op.getTensor();
  Value fill = op.getFill() ? valueOf(op.getFill()) : Value();
  IntegerSet mask;
  if (op.getMask()) {
    IntegerSet set = *op.getMask();
    SmallVector<AffineExpr> constraints;
    for (AffineExpr constraint : set.getConstraints())
      constraints.push_back(simplify(substitute(constraint, dims)));
    mask = IntegerSet::get(point.dims.size() + extra.size(), set.getNumSymbols(), constraints, set.getEqFlags());
  }
  if (Value known = bound.lookup(tensor); known && !mask)
    return known; // narrowed where it is used
  if (bound.count(tensor) || tensor.getDefiningOp<ir::LoopsOp>()) {
    Value value = element(tensor, coordinate);
    if (!mask)
      return value;
    SmallVector<AffineExpr> identity;
    for (unsigned i = 0; i < mask.getNumDims(); ++i)
      identity.push_back(getAffineDimExpr(i, op.getContext()));
    Value holds = condition(mask, identity, extra);
    Value other = fill ? fill : e.zero(getElementTypeOrSelf(value.getType()));
    bool vector =
        isa<VectorType>(holds.getType()) || isa<VectorType>(value.getType()) || isa<VectorType>(other.getType());
    if (!vector)
      return e.select(holds, value, other);
    return e.select(e.splat(holds, point.lanes), e.splat(value, point.lanes), e.splat(other, point.lanes));
  }
  return loadAt(tensor, coordinate, mask, fill, extra);
}

void BodyEmitter::emit(Operation &op) {
  if (auto loadOp = dyn_cast<ir::LoadOp>(op)) {
    values[loadOp.getValue()] = load(loadOp);
    return;
  }
  if (auto apply = dyn_cast<ir::ApplyOp>(op)) {
    SmallVector<AffineExpr> dims;
    bool affine = true;
    for (Value operand : apply.getIndices()) {
      dims.push_back(indexOf(operand).expr);
      affine &= static_cast<bool>(dims.back());
    }
    if (affine) {
      indices[apply.getValue()] = {simplify(substitute(apply.getMap().getResult(0), dims)), Value()};
      values.erase(apply.getValue());
      return;
    }
    // Some operand is computed: lane by lane where one of them is a vector.
    Values operands;
    bool vector = false;
    for (Value operand : apply.getIndices()) {
      operands.push_back(valueOf(operand));
      vector |= isa<VectorType>(operands.back().getType());
    }
    Value result;
    if (!vector) {
      result = e.affine(apply.getMap().getResult(0), operands, point.symbols);
    } else {
      result = e.zero(e.vector(e.b.getIndexType(), point.lanes));
      for (int64_t i = 0; i < point.lanes; ++i) {
        Values lane;
        for (Value v : operands)
          lane.push_back(isa<VectorType>(v.getType()) ? e.lane(v, i) : v);
        result = e.b.create<vector::InsertOp>(e.loc, e.affine(apply.getMap().getResult(0), lane, point.symbols), result,
                                              ArrayRef<int64_t>{i});
      }
    }
    indices[apply.getValue()] = {AffineExpr(), result};
    values[apply.getValue()] = result;
    return;
  }
  if (auto inSet = dyn_cast<ir::InSetOp>(op)) {
    auto [dims, extra] = splitIndices(inSet.getIndices());
    values[inSet.getValue()] = condition(inSet.getSet(), dims, extra);
    return;
  }
  Values operands;
  for (Value operand : op.getOperands())
    operands.push_back(narrowed(valueOf(operand), operand.getType()));
  ElementOps ops{e.b, e.loc, /*contract=*/false, e.nativeBf16};
  Value result = ops.emit(op, operands, point.lanes);
  values[op.getResult(0)] = result;
  if (result.getType().isIndex() || getElementTypeOrSelf(result.getType()).isIndex())
    indices[op.getResult(0)] = {AffineExpr(), result};
}

Values BodyEmitter::evaluate(ir::LoopsOp loops, ArrayRef<AffineExpr> coordinate) {
  Block &body = *loops.getBody().begin();
  for (auto [argument, expr] : llvm::zip_equal(body.getArguments(), coordinate)) {
    indices[argument] = {expr, Value()};
    values.erase(argument);
  }
  for (Operation &op : body.without_terminator())
    emit(op);
  Values results;
  for (Value yielded : body.getTerminator()->getOperands())
    results.push_back(narrowed(valueOf(yielded), yielded.getType()));
  return results;
}

Value BodyEmitter::narrowed(Value value, Type element) {
  return element.isIntOrFloat() ? e.convert(value, computeType(element)) : value;
}

void BodyEmitter::store(Value value, Value memref, RankedTensorType type, ArrayRef<AffineExpr> coordinate) {
  value = toStorage(e.b, e.loc, value, type.getElementType(), e.nativeBf16);
  AffineExpr offset = rowMajorOffset(coordinate, ir::getExtents(type), type.getContext());
  if (point.laneDim < 0)
    return e.store(value, memref, e.affine(offset, point.dims, point.symbols));
  value = e.splat(value, point.lanes);
  if (laneStride(offset, point.laneDim, point.lanes) == 1)
    return e.vstore(value, memref, e.affine(offset, point.dims, point.symbols), point.mask);
  for (int64_t i = 0; i < point.lanes; ++i) {
    auto one = [&] { e.store(e.lane(value, i), memref, e.affine(offset, laneDims(i), point.symbols)); };
    if (point.count && i > 0)
      e.when(e.lt(e.c(i), point.count), one);
    else
      one();
  }
}

bool canEmitBody(ir::LoopsOp loops) {
  if (loops.getNumReductions() != 0)
    return false;
  return llvm::all_of(loops.getBody().begin()->without_terminator(), [](Operation &op) {
    return isa<ir::LoadOp, ir::ApplyOp, ir::InSetOp>(op) ||
           (op.getNumRegions() == 0 && op.getNumResults() == 1 && OpTrait::hasElementwiseMappableTraits(&op)) ||
           isa<arith::ConstantOp>(op);
  });
}

int64_t bodyCost(ir::LoopsOp loops) {
  int64_t cost = 0;
  for (Operation &op : loops.getBody().begin()->without_terminator())
    cost += isa<math::ExpOp, math::ErfOp, math::TanhOp, math::LogOp, math::PowFOp, math::SinOp, math::CosOp>(op) ? 20
            : isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op)                                                ? 4
                                                                                                                 : 1;
  return cost;
}

} // namespace tcc::codegen::gemm
