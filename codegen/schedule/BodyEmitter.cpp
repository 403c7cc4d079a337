//===- BodyEmitter.cpp - bodies of loops, scalar or vector ----------------===//
#include "codegen/schedule/BodyEmitter.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/kernel_abi.h"

using namespace mlir;

namespace tcc::codegen {
//===- Index arithmetic ----------------------------------------------------===//

Value BodyEmitter::constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

bool BodyEmitter::isVector(AffineExpr expr) const {
  if (point.lanes == 1)
    return false;
  if (point.laneDim >= 0 && expr.isFunctionOfDim(point.laneDim))
    return true;
  for (auto [i, value] : llvm::enumerate(nest.opaque))
    if (expr.isFunctionOfDim(kFirstOpaqueDim + i) && llvm::isa<VectorType>(values.lookup(value).getType()))
      return true;
  return false;
}

Value BodyEmitter::splat(Value value) {
  if (point.lanes == 1 || llvm::isa<VectorType>(value.getType()))
    return value;
  return b.create<vector::SplatOp>(loc, VectorType::get({point.lanes}, value.getType()), value);
}

Value BodyEmitter::laneNumbers(Type element) {
  llvm::SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < point.lanes; ++i)
    numbers.push_back(b.getIntegerAttr(element, i));
  auto type = VectorType::get({point.lanes}, element);
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, numbers));
}

// The expression in lane 0, or in the only lane.
Value BodyEmitter::scalarIndex(AffineExpr expr) {
  if (auto constantExpr = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return context.symbols[symbol.getPosition()];
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() < kFirstOpaqueDim)
      return point.dims[dim.getPosition()];
    return values.lookup(nest.opaque[dim.getPosition() - kFirstOpaqueDim]);
  }
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  Value lhs = scalarIndex(binary.getLHS()), rhs = scalarIndex(binary.getRHS());
  return emitIndexOp(b, loc, binary.getKind(), lhs, rhs, simplifier.isNonNegative(binary.getLHS()));
}

Value BodyEmitter::vectorIndex(AffineExpr expr) {
  if (!isVector(expr))
    return splat(scalarIndex(expr));
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= kFirstOpaqueDim)
      return values.lookup(nest.opaque[dim.getPosition() - kFirstOpaqueDim]);
    return b.create<arith::AddIOp>(loc, splat(point.dims[dim.getPosition()]), laneNumbers(b.getIndexType()));
  }
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  Value lhs = vectorIndex(binary.getLHS()), rhs = vectorIndex(binary.getRHS());
  return emitIndexOp(b, loc, binary.getKind(), lhs, rhs, simplifier.isNonNegative(binary.getLHS()));
}

Value BodyEmitter::indexValue(Value value) {
  AffineExpr expr = nest.index.lookup(value);
  return isVector(expr) ? vectorIndex(expr) : scalarIndex(expr);
}

// A body value as emitted so far.
Value BodyEmitter::operand(Value value) {
  if (Value found = values.lookup(value))
    return found;
  return indexValue(value); // an index that no op computes: a loop index or a tcc.apply
}

//===- Conditions and loads ------------------------------------------------===//

// Scalar i1, or a vector where a condition depends on the lane. Null: always true.
Value BodyEmitter::condition(const Conditions &conditions) {
  Value scalar, vector;
  auto both = [&](Value a, Value c) -> Value { return a ? b.create<arith::AndIOp>(loc, a, c).getResult() : c; };
  for (auto [expr, equal] : llvm::zip(conditions.exprs, conditions.equal)) {
    auto predicate = equal ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    if (isVector(expr)) {
      // A condition on the lane itself is a comparison of lane numbers with a scalar.
      std::optional<int64_t> stride;
      if (point.laneDim >= 0)
        if (AffineExpr s = simplifier.stride(expr, point.laneDim); s && llvm::isa<AffineConstantExpr>(s))
          stride = llvm::cast<AffineConstantExpr>(s).getValue();
      bool opaque = llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                                 [&](unsigned i) { return expr.isFunctionOfDim(kFirstOpaqueDim + i); });
      if (!equal && !opaque && stride && (*stride == 1 || *stride == -1)) {
        Value start = scalarIndex(expr);
        Value limit = b.create<arith::MaxSIOp>(loc, start, constant(-point.lanes - 1));
        limit = b.create<arith::MinSIOp>(loc, limit, constant(point.lanes + 1));
        Value narrow = b.create<arith::IndexCastOp>(loc, b.getI32Type(), limit);
        Value lanes = laneNumbers(b.getI32Type());
        Value zero = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0));
        Value holds = *stride == 1 ? b.create<arith::CmpIOp>(loc, predicate, lanes,
                                                             splat(b.create<arith::SubIOp>(loc, zero, narrow)))
                                   : b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, lanes, splat(narrow));
        vector = both(vector, holds);
        continue;
      }
      Value value = vectorIndex(expr);
      Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(value.getType()));
      vector = both(vector, b.create<arith::CmpIOp>(loc, predicate, value, zero));
    } else {
      scalar = both(scalar, b.create<arith::CmpIOp>(loc, predicate, scalarIndex(expr), constant(0)));
    }
  }
  if (scalar && vector)
    return b.create<arith::AndIOp>(loc, splat(scalar), vector);
  return vector ? vector : scalar;
}

Value BodyEmitter::loadScalar(Value memref, Value offset, Value condition, Type type) {
  if (!condition)
    return b.create<memref::LoadOp>(loc, memref, offset);
  auto branch = b.create<scf::IfOp>(
      loc, condition,
      [&](OpBuilder &b, Location loc) {
        b.create<scf::YieldOp>(loc, b.create<memref::LoadOp>(loc, memref, offset).getResult());
      },
      [&](OpBuilder &b, Location loc) {
        b.create<scf::YieldOp>(loc, b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)).getResult());
      });
  return branch.getResult(0);
}

// Lanes a constant few elements apart: whole vectors are loaded and shuffled, without reading beyond the last lane.
Value BodyEmitter::loadStrided(Value memref, Value offset, int64_t stride, Type type) {
  int64_t lanes = point.lanes, span = (lanes - 1) * stride + 1;
  auto vector = VectorType::get({lanes}, type);
  Value result;
  int64_t done = 0;
  for (int64_t start = 0; done < lanes; start += lanes) {
    int64_t first = std::min(start, span - lanes);
    Value part = b.create<vector::LoadOp>(loc, vector, memref,
                                          ValueRange{b.create<arith::AddIOp>(loc, offset, constant(first))});
    llvm::SmallVector<int64_t> picks;
    int64_t next = done;
    while (next < lanes && next * stride < first + lanes)
      ++next;
    for (int64_t lane = 0; lane < lanes; ++lane)
      picks.push_back(lane < done ? lane : lane < next ? lanes + lane * stride - first : 0);
    result = b.create<vector::ShuffleOp>(loc, result ? result : part, part, picks);
    done = next;
  }
  return result;
}

Value BodyEmitter::loadGather(Value memref, AffineExpr offset, Value mask, Type type) {
  auto vector = VectorType::get({point.lanes}, type);
  Value zeros = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector));
  // Relative to the offset in lane 0 where lanes are evenly spaced.
  Value base, indices;
  if (AffineExpr stride = point.laneDim >= 0 ? simplifier.stride(offset, point.laneDim) : AffineExpr();
      stride && !isVector(stride) &&
      !isVector(simplifier.simplify(offset - stride * getAffineDimExpr(point.laneDim, offset.getContext())))) {
    base = scalarIndex(offset);
    indices = b.create<arith::MulIOp>(loc, laneNumbers(b.getIndexType()), splat(scalarIndex(stride)));
  } else {
    base = constant(0);
    indices = vectorIndex(offset);
  }
  if (type.getIntOrFloatBitWidth() >= 32) {
    auto maskType = VectorType::get({point.lanes}, b.getI1Type());
    if (!mask)
      mask = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(maskType, true));
    return b.create<vector::GatherOp>(loc, vector, memref, ValueRange{base}, indices, mask, zeros);
  }
  Value result = zeros;
  for (int64_t lane = 0; lane < point.lanes; ++lane) {
    Value index = b.create<vector::ExtractOp>(loc, indices, lane);
    Value valid = mask ? b.create<vector::ExtractOp>(loc, mask, lane).getResult() : Value();
    Value element = loadScalar(memref, b.create<arith::AddIOp>(loc, base, index), valid, type);
    result = b.create<vector::InsertOp>(loc, element, result, lane);
  }
  return result;
}

Value BodyEmitter::loadContiguous(ir::LoadOp op, const Point &at, int64_t lanes) {
  point = at;
  Type element = llvm::cast<RankedTensorType>(op.getTensor().getType()).getElementType();
  Value value =
      b.create<vector::LoadOp>(loc, VectorType::get({lanes}, storageType(element)),
                               context.place(op.getTensor()).memref, ValueRange{scalarIndex(nest.offset.lookup(op))});
  return fromStorage(b, loc, value, element);
}

Value BodyEmitter::loadOffset(ir::LoadOp op, const Point &at) {
  point = at;
  return scalarIndex(nest.offset.lookup(op));
}

Value BodyEmitter::resultOffset(unsigned result, const Point &at) {
  point = at;
  return scalarIndex(nest.resultOffset[result]);
}

Value BodyEmitter::load(ir::LoadOp op) {
  if (Value value = loaded.lookup(op))
    return value;
  Type element = llvm::cast<RankedTensorType>(op.getTensor().getType()).getElementType();
  Type type = storageType(element);
  AffineExpr offset = nest.offset.lookup(op);
  TensorPlace place = context.place(op.getTensor());
  Value holds;
  if (auto it = nest.conditions.find(op); it != nest.conditions.end())
    holds = condition(it->second);
  Value fill = op.getFill() ? operand(op.getFill()) : Value();
  auto choose = [&](Value value) -> Value {
    if (!holds)
      return value;
    if (llvm::isa<VectorType>(holds.getType()))
      value = splat(value);
    Value other = fill ? fill : b.create<arith::ConstantOp>(loc, b.getZeroAttr(value.getType())).getResult();
    if (llvm::isa<VectorType>(value.getType()) || llvm::isa<VectorType>(other.getType())) {
      value = splat(value);
      other = splat(other);
    }
    return b.create<arith::SelectOp>(loc, holds, value, other);
  };
  if (place.scalar)
    return choose(place.scalar);

  bool vectorCondition = holds && llvm::isa<VectorType>(holds.getType());
  if (!isVector(offset) && !vectorCondition)
    return choose(fromStorage(b, loc, loadScalar(place.memref, scalarIndex(offset), holds, type), element));

  Value mask = point.mask;
  if (holds)
    mask = mask ? b.create<arith::AndIOp>(loc, mask, splat(holds)).getResult() : splat(holds);
  std::optional<int64_t> stride;
  AffineExpr lane = getAffineDimExpr(std::max(point.laneDim, 0), offset.getContext());
  if (AffineExpr s = point.laneDim >= 0 ? simplifier.stride(offset, point.laneDim) : AffineExpr())
    if (auto constantStride = llvm::dyn_cast<AffineConstantExpr>(s);
        constantStride && !isVector(simplifier.simplify(offset - lane * s)))
      stride = constantStride.getValue();
  auto vector = VectorType::get({point.lanes}, type);
  Value loaded;
  if (stride == 1 && !mask)
    loaded = b.create<vector::LoadOp>(loc, vector, place.memref, ValueRange{scalarIndex(offset)});
  else if (stride == 1)
    loaded = b.create<vector::MaskedLoadOp>(loc, vector, place.memref, ValueRange{scalarIndex(offset)}, mask,
                                            b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector)));
  else if (stride && *stride >= 2 && *stride <= 4 && !mask)
    loaded = loadStrided(place.memref, scalarIndex(offset), *stride, type);
  else
    loaded = loadGather(place.memref, offset, mask, type);
  return choose(fromStorage(b, loc, loaded, element));
}

//===- Ops -----------------------------------------------------------------===//

// Stores an error code where any valid lane is bad.
void BodyEmitter::report(Value bad, int64_t code) {
  if (auto vector = llvm::dyn_cast<VectorType>(bad.getType())) {
    if (point.mask)
      bad = b.create<arith::AndIOp>(loc, bad, point.mask);
    bad = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, bad);
  }
  b.create<scf::IfOp>(loc, bad, [&](OpBuilder &b, Location loc) {
    Value value = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(code));
    Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
    b.create<memref::StoreOp>(loc, value, context.errorWord, zero);
    b.create<scf::YieldOp>(loc);
  });
}

Value BodyEmitter::boundsCheck(ir::BoundsCheckOp op) {
  Value index = operand(op.getIndex());
  Value extent = scalarIndex(op.getExtent().getExprs()[0]);
  Value zero = constant(0), last = b.create<arith::SubIOp>(loc, extent, constant(1));
  if (llvm::isa<VectorType>(index.getType())) {
    extent = splat(extent);
    zero = splat(zero);
    last = splat(last);
  }
  Value wrapped = index;
  if (!op.getExact()) {
    Value negative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, zero);
    wrapped = b.create<arith::SelectOp>(loc, negative, b.create<arith::AddIOp>(loc, index, extent), index);
  }
  Value clamped = b.create<arith::MaxSIOp>(loc, b.create<arith::MinSIOp>(loc, wrapped, last), zero);
  // Unsigned, so that negative ones are above every extent, and 0 is not below 0.
  Value bad = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, wrapped, extent);
  if (op.getWhen()) {
    Value when = operand(op.getWhen());
    if (llvm::isa<VectorType>(when.getType()) != llvm::isa<VectorType>(bad.getType())) {
      when = splat(when);
      bad = splat(bad);
    }
    bad = b.create<arith::AndIOp>(loc, bad, when);
  }
  report(bad, kTccIndexOutOfRange);
  return clamped;
}

Values BodyEmitter::evaluate(const Point &at) {
  point = at;
  values.clear();
  ElementOps ops{b, loc, context.contract, context.nativeBf16};
  if (context.errorWord)
    ops.report = [this](Value bad, int64_t code) { report(bad, code); };
  Block &body = nest.op.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      values[result] = this->load(load);
    } else if (llvm::isa<ir::ApplyOp>(op)) {
      continue; // emitted where it is used
    } else if (auto inSet = llvm::dyn_cast<ir::InSetOp>(op)) {
      Value holds = condition(nest.conditions.find(&op)->second);
      values[result] = holds ? holds : b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)).getResult();
    } else if (auto check = llvm::dyn_cast<ir::BoundsCheckOp>(op)) {
      values[result] = boundsCheck(check);
    } else {
      Values operands;
      for (Value value : op.getOperands())
        operands.push_back(operand(value));
      values[result] = ops.emit(op, operands, point.lanes);
    }
  }
  Values results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(splat(operand(value)));
  return results;
}

void BodyEmitter::store(Value value, unsigned result, Value memref, const Point &at) {
  point = at;
  Type element = llvm::cast<RankedTensorType>(nest.op.getResult(result).getType()).getElementType();
  storeAt(toStorage(b, loc, value, element, context.nativeBf16), nest.resultOffset[result], memref, {});
}

void BodyEmitter::storePartial(Value value, unsigned result, Value memref, Value base, const Point &at) {
  point = at;
  Type element = llvm::cast<RankedTensorType>(nest.op.getResult(result).getType()).getElementType();
  storeAt(toStorage(b, loc, value, computeType(element), context.nativeBf16), nest.resultOffset[result], memref, base);
}

void BodyEmitter::storeAt(Value value, AffineExpr offset, Value memref, Value base) {
  auto withBase = [&](Value at) -> Value { return base ? b.create<arith::AddIOp>(loc, at, base).getResult() : at; };
  if (point.lanes == 1) {
    b.create<memref::StoreOp>(loc, value, memref, withBase(scalarIndex(offset)));
    return;
  }
  AffineExpr stride = simplifier.stride(offset, point.laneDim);
  bool contiguous = stride && stride == getAffineConstantExpr(1, offset.getContext());
  if (contiguous && !point.mask) {
    b.create<vector::StoreOp>(loc, value, memref, ValueRange{withBase(scalarIndex(offset))});
    return;
  }
  if (contiguous) {
    b.create<vector::MaskedStoreOp>(loc, memref, ValueRange{withBase(scalarIndex(offset))}, point.mask, value);
    return;
  }
  Value indices = vectorIndex(offset);
  for (int64_t lane = 0; lane < point.lanes; ++lane) {
    Value scalar = b.create<vector::ExtractOp>(loc, value, lane);
    Value index = withBase(b.create<vector::ExtractOp>(loc, indices, lane));
    if (!point.mask) {
      b.create<memref::StoreOp>(loc, scalar, memref, index);
      continue;
    }
    Value valid = b.create<vector::ExtractOp>(loc, point.mask, lane);
    b.create<scf::IfOp>(loc, valid, [&](OpBuilder &b, Location loc) {
      b.create<memref::StoreOp>(loc, scalar, memref, index);
      b.create<scf::YieldOp>(loc);
    });
  }
}

bool BodyEmitter::canMask(const LoopNest &nest, unsigned dim, bool narrowMasks) {
  IndexSimplifier simplifier = nest.simplifier();
  auto isWide = [](Type type) {
    return storageType(llvm::cast<RankedTensorType>(type).getElementType()).getIntOrFloatBitWidth() >= 32;
  };
  for (ir::LoadOp load : nest.loads()) {
    AffineExpr offset = nest.offset.lookup(load);
    AffineExpr stride = simplifier.stride(offset, dim);
    auto constantStride = llvm::dyn_cast_or_null<AffineConstantExpr>(stride);
    bool opaque = llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                               [&](unsigned i) { return offset.isFunctionOfDim(kFirstOpaqueDim + i); });
    bool simple = constantStride && (constantStride.getValue() == 0 || constantStride.getValue() == 1) && !opaque;
    if (!isWide(load.getTensor().getType()) && !(simple && narrowMasks))
      return false;
  }
  for (Value result : nest.op.getResults())
    if (!isWide(result.getType()) && !narrowMasks)
      return false;
  return true;
}

} // namespace tcc::codegen
