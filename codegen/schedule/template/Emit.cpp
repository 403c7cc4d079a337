//===- Emit.cpp -----------------------------------------------------------===//
#include "codegen/schedule/template/Emit.h"

#include "codegen/schedule/ElementOps.h"
#include "codegen/schedule/RoundOnce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen::gemm {

std::optional<int64_t> constantOf(Value value) {
  APInt bits;
  if (value && matchPattern(value, m_ConstantInt(&bits)))
    return bits.getSExtValue();
  return std::nullopt;
}

Value Emit::c(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
Value Emit::add(Value x, Value y) {
  // Keeps constants on the right, where consecutive ones fold together.
  if (constantOf(x))
    std::swap(x, y);
  auto cy = constantOf(y);
  if (cy && *cy == 0)
    return x;
  if (auto inner = x.getDefiningOp<arith::AddIOp>(); inner && cy)
    if (auto cx = constantOf(inner.getRhs()))
      return add(inner.getLhs(), c(*cx + *cy));
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value Emit::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
Value Emit::mul(Value x, Value y) {
  if (constantOf(x))
    std::swap(x, y);
  if (auto cy = constantOf(y); cy && *cy == 1)
    return x;
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}
Value Emit::div(Value x, Value y) {
  if (auto cx = constantOf(x), cy = constantOf(y); cx && cy && *cy > 0)
    return c(*cx / *cy);
  return b.createOrFold<arith::DivUIOp>(loc, x, y);
}
Value Emit::rem(Value x, Value y) {
  if (auto cx = constantOf(x), cy = constantOf(y); cx && cy && *cy > 0)
    return c(*cx % *cy);
  if (auto cy = constantOf(y); cy && *cy == 1)
    return c(0);
  return b.createOrFold<arith::RemUIOp>(loc, x, y);
}
Value Emit::ceilDiv(Value x, Value y) { return div(add(x, sub(y, c(1))), y); }
Value Emit::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
Value Emit::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
Value Emit::lt(Value x, Value y) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y); }
Value Emit::ge(Value x, Value y) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, x, y); }
Value Emit::eq(Value x, Value y) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y); }
Value Emit::both(Value x, Value y) { return b.createOrFold<arith::AndIOp>(loc, x, y); }
Value Emit::select(Value condition, Value x, Value y) { return b.createOrFold<arith::SelectOp>(loc, condition, x, y); }

void Emit::loop(Value lb, Value ub, int64_t step, function_ref<void(Value)> body) {
  loop(lb, ub, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

Values Emit::loop(Value lb, Value ub, int64_t step, ValueRange init, function_ref<Values(Value, ValueRange)> body) {
  auto lower = constantOf(lb), upper = constantOf(ub);
  if (lower && upper && *lower >= *upper)
    return Values(init);
  if (lower && upper && *upper - *lower <= step)
    return body(lb, init);
  auto op = b.create<scf::ForOp>(loc, lb, ub, c(step), init);
  OpBuilder::InsertionGuard guard(b);
  if (init.empty())
    b.setInsertionPoint(op.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!init.empty())
    b.create<scf::YieldOp>(loc, results);
  return Values(op.getResults());
}

void Emit::when(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  if (auto known = constantOf(condition)) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto op = b.create<scf::IfOp>(loc, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(op.elseBlock()->getTerminator());
    otherwise();
  }
}

Values Emit::when(Value condition, TypeRange types, function_ref<Values()> then, function_ref<Values()> otherwise) {
  if (auto known = constantOf(condition))
    return *known ? then() : otherwise();
  auto op = b.create<scf::IfOp>(loc, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  b.create<scf::YieldOp>(loc, then());
  b.setInsertionPointToStart(op.elseBlock());
  b.create<scf::YieldOp>(loc, otherwise());
  return Values(op.getResults());
}

Value Emit::zero(Type type) { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)); }
Value Emit::splat(Value scalar, int64_t lanes) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return b.createOrFold<vector::BroadcastOp>(loc, vector(scalar.getType(), lanes), scalar);
}
Value Emit::lane(Value vector, int64_t index) {
  return b.create<vector::ExtractOp>(loc, vector, ArrayRef<int64_t>{index});
}
Value Emit::maskOf(Value count, int64_t lanes) {
  return b.create<vector::CreateMaskOp>(loc, vector(b.getI1Type(), lanes), count);
}

Value Emit::load(Value memref, Value offset) { return b.create<memref::LoadOp>(loc, memref, offset); }
void Emit::store(Value value, Value memref, Value offset) { b.create<memref::StoreOp>(loc, value, memref, offset); }
Value Emit::vload(Value memref, Value offset, int64_t lanes, Value mask) {
  VectorType type = vector(cast<MemRefType>(memref.getType()).getElementType(), lanes);
  if (mask)
    return b.create<vector::MaskedLoadOp>(loc, type, memref, offset, mask, zero(type));
  return b.create<vector::LoadOp>(loc, type, memref, offset);
}
void Emit::vstore(Value vector, Value memref, Value offset, Value mask) {
  if (mask)
    b.create<vector::MaskedStoreOp>(loc, memref, offset, mask, vector);
  else
    b.create<vector::StoreOp>(loc, vector, memref, offset);
}

Value Emit::fma(Value x, Value y, Value z) {
  if (isa<FloatType>(getElementTypeOrSelf(z.getType()))) {
    if (isa<VectorType>(z.getType()))
      return b.create<vector::FMAOp>(loc, x, y, z);
    return b.create<arith::AddFOp>(loc, b.create<arith::MulFOp>(loc, x, y), z);
  }
  return b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, x, y), z);
}

Value Emit::convert(Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = element;
  if (auto shaped = dyn_cast<VectorType>(value.getType()))
    type = shaped.clone(element);
  unsigned a = from.getIntOrFloatBitWidth(), z = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(from)) {
    if (isHalf(from))
      return convert(fromStorage(b, loc, value, from), element);
    if (isHalf(element))
      return toStorage(b, loc, from.isF64() ? toFloat32ForHalf(b, loc, value) : value, element, nativeBf16);
    if (a < z)
      return b.create<arith::ExtFOp>(loc, type, value);
    return b.create<arith::TruncFOp>(loc, type, value);
  }
  if (a < z)
    return b.create<arith::ExtSIOp>(loc, type, value);
  return b.create<arith::TruncIOp>(loc, type, value);
}

static Value expand(Emit &e, AffineExpr expr, ValueRange dims, ValueRange symbols, bool nonNegative) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return e.c(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::DimId:
    return dims[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId:
    return symbols[cast<AffineSymbolExpr>(expr).getPosition()];
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value x = expand(e, binary.getLHS(), dims, symbols, nonNegative);
  Value y = expand(e, binary.getRHS(), dims, symbols, nonNegative);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return e.add(x, y);
  case AffineExprKind::Mul:
    return e.mul(x, y);
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod: {
    bool mod = expr.getKind() == AffineExprKind::Mod;
    if (nonNegative)
      return mod ? e.rem(x, y) : e.div(x, y);
    // The divisor is positive; floor for a negative dividend is -1 - (-1 - x) / y.
    Value negative = e.lt(x, e.c(0));
    Value flipped = e.select(negative, e.sub(e.c(-1), x), x);
    Value quotient = e.div(flipped, y);
    Value floor = e.select(negative, e.sub(e.c(-1), quotient), quotient);
    return mod ? e.sub(x, e.mul(floor, y)) : floor;
  }
  case AffineExprKind::CeilDiv:
    if (nonNegative)
      return e.ceilDiv(x, y);
    return expand(e, -((-binary.getLHS()).floorDiv(binary.getRHS())), dims, symbols, false);
  default:
    llvm_unreachable("every kind of affine expression is handled");
  }
}

Value Emit::affine(AffineExpr expr, ValueRange dims, ValueRange symbols) {
  return expand(*this, expr, dims, symbols, false);
}
Value Emit::affineNonNegative(AffineExpr expr, ValueRange dims, ValueRange symbols) {
  return expand(*this, expr, dims, symbols, true);
}

} // namespace tcc::codegen::gemm
