//===- ElementOps.cpp -----------------------------------------------------===//
#include "codegen/schedule/ElementOps.h"

#include "codegen/schedule/RoundOnce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "runtime/kernel_abi.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

Type withElement(Type shape, Type element) {
  if (auto vector = llvm::dyn_cast<VectorType>(shape))
    return VectorType::get(vector.getShape(), element);
  return element;
}

// Rounds to the nearest bfloat16, to even, as bits in an i16; any NaN stays one. The instruction of AVX512-BF16 is not
// used: it flushes denormals.
Value truncateToBf16(OpBuilder &b, Location loc, Value x) {
  Type ints = withElement(x.getType(), b.getI32Type());
  auto c = [&](int64_t value) -> Value {
    if (auto vector = llvm::dyn_cast<VectorType>(ints))
      return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, b.getI32IntegerAttr(value)));
    return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(value));
  };
  Value bits = b.create<arith::BitcastOp>(loc, ints, x);
  Value high = b.create<arith::ShRUIOp>(loc, bits, c(16));
  Value odd = b.create<arith::AndIOp>(loc, high, c(1));
  Value sum = b.create<arith::AddIOp>(loc, bits, b.create<arith::AddIOp>(loc, odd, c(0x7fff)));
  Value rounded = b.create<arith::ShRUIOp>(loc, sum, c(16));
  Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  Value result = b.create<arith::SelectOp>(loc, isNan, b.create<arith::OrIOp>(loc, high, c(64)), rounded);
  Value narrow = b.create<arith::TruncIOp>(loc, withElement(ints, b.getI16Type()), result);
  return b.create<arith::BitcastOp>(loc, withElement(ints, b.getBF16Type()), narrow);
}

} // namespace

Type vectorOf(Type element, int64_t lanes) { return lanes == 1 ? element : Type(VectorType::get({lanes}, element)); }

Value fromStorage(OpBuilder &b, Location loc, Value value, Type element) {
  if (isHalf(element))
    return b.create<arith::ExtFOp>(loc, withElement(value.getType(), b.getF32Type()), value);
  if (element.isInteger(1)) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(value.getType()));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value, zero);
  }
  return value;
}

Value toStorage(OpBuilder &b, Location loc, Value value, Type element, bool nativeBf16) {
  // As it was loaded.
  if (auto widening = value.getDefiningOp<arith::ExtFOp>(); widening && isHalf(element))
    if (getElementTypeOrSelf(widening.getIn().getType()) == element)
      return widening.getIn();
  if (element.isBF16() && !nativeBf16)
    return truncateToBf16(b, loc, value);
  if (isHalf(element))
    return b.create<arith::TruncFOp>(loc, withElement(value.getType(), element), value);
  if (element.isInteger(1))
    return b.create<arith::ExtUIOp>(loc, withElement(value.getType(), b.getI8Type()), value);
  return value;
}

Value emitIndexOp(OpBuilder &b, Location loc, AffineExprKind kind, Value lhs, Value rhs, bool nonNegative) {
  switch (kind) {
  case AffineExprKind::Add:
    return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
  case AffineExprKind::Mul:
    return b.createOrFold<arith::MulIOp>(loc, lhs, rhs);
  case AffineExprKind::FloorDiv:
    return nonNegative ? b.createOrFold<arith::DivUIOp>(loc, lhs, rhs)
                       : b.createOrFold<arith::FloorDivSIOp>(loc, lhs, rhs);
  case AffineExprKind::Mod: {
    if (nonNegative)
      return b.createOrFold<arith::RemUIOp>(loc, lhs, rhs);
    Value quotient = b.createOrFold<arith::FloorDivSIOp>(loc, lhs, rhs);
    return b.createOrFold<arith::SubIOp>(loc, lhs, b.createOrFold<arith::MulIOp>(loc, quotient, rhs));
  }
  default:
    return b.createOrFold<arith::CeilDivSIOp>(loc, lhs, rhs);
  }
}

Value emitExtent(OpBuilder &b, Location loc, AffineExpr expr, llvm::ArrayRef<Value> symbols) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return b.create<arith::ConstantIndexOp>(loc, constant.getValue());
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  Value lhs = emitExtent(b, loc, binary.getLHS(), symbols), rhs = emitExtent(b, loc, binary.getRHS(), symbols);
  return emitIndexOp(b, loc, binary.getKind(), lhs, rhs, /*nonNegative=*/false);
}

// Integer division traps on x86 for a zero divisor and for the one quotient that does not fit: both are replaced
// before, the first is reported.
Value ElementOps::divide(Operation &op, Value lhs, Value rhs) {
  Type type = lhs.getType();
  auto c = [&](int64_t value) -> Value {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = llvm::dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, llvm::cast<Attribute>(attr));
    return b.create<arith::ConstantOp>(loc, attr);
  };
  bool isSigned = !llvm::isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  bool isRemainder = llvm::isa<arith::RemSIOp, arith::RemUIOp>(op);
  IntegerAttr known;
  if (auto definition = op.getOperand(1).getDefiningOp<arith::ConstantOp>())
    known = llvm::dyn_cast<IntegerAttr>(definition.getValue());
  bool safe = known && !known.getValue().isZero() && !(isSigned && known.getValue().isAllOnes());
  Value minusOne, divisor = rhs;
  if (!safe) {
    Value zero = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rhs, c(0));
    if (report)
      report(zero, kTccDivisionByZero);
    Value bad = zero;
    if (isSigned) {
      minusOne = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rhs, c(-1));
      bad = b.create<arith::OrIOp>(loc, zero, minusOne);
    }
    divisor = b.create<arith::SelectOp>(loc, bad, c(1), rhs);
  }
  OperationState state(loc, op.getName(), ValueRange{lhs, divisor}, TypeRange{type}, op.getAttrs());
  Value result = b.create(state)->getResult(0);
  if (minusOne) {
    Value other = isRemainder ? c(0) : b.create<arith::SubIOp>(loc, c(0), lhs).getResult();
    result = b.create<arith::SelectOp>(loc, minusOne, other, result);
  }
  return result;
}

Value ElementOps::emit(Operation &op, llvm::ArrayRef<Value> given, int64_t allLanes) {
  if (auto definition = llvm::dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = definition.getValue();
    if (isHalf(value.getType())) {
      llvm::APFloat number = llvm::cast<FloatAttr>(value).getValue();
      bool loses;
      number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
      value = b.getFloatAttr(b.getF32Type(), number);
    }
    return b.create<arith::ConstantOp>(loc, value);
  }
  bool anyVector = llvm::any_of(given, [](Value value) { return llvm::isa<VectorType>(value.getType()); });
  int64_t lanes = anyVector ? allLanes : 1;
  llvm::SmallVector<Value> operands(given);
  for (Value &value : operands)
    if (anyVector && !llvm::isa<VectorType>(value.getType()))
      value = b.create<vector::SplatOp>(loc, VectorType::get({lanes}, value.getType()), value);
  if (llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
                arith::CeilDivUIOp>(op))
    return divide(op, operands[0], operands[1]);
  Type from = op.getNumOperands() ? op.getOperand(0).getType() : Type();
  Type to = op.getResult(0).getType();
  auto round = [&](Value value, Type half) {
    return fromStorage(b, loc, toStorage(b, loc, value, half, nativeBf16), half);
  };

  if (llvm::isa<arith::ExtFOp>(op) && isHalf(from) && to.isF32())
    return operands[0];
  if (llvm::isa<arith::TruncFOp>(op) && isHalf(to)) {
    Value value = operands[0];
    if (from.isF64())
      value = toFloat32ForHalf(b, loc, value);
    return round(value, to);
  }
  if (to.isBF16() && llvm::isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return round(toFloat32ForHalf(b, loc, operands[0], llvm::isa<arith::UIToFPOp>(op)), to);
  if (llvm::isa<arith::BitcastOp>(op) && (isHalf(from) || isHalf(to))) {
    Value value = isHalf(from) ? toStorage(b, loc, operands[0], from, nativeBf16) : operands[0];
    value = b.create<arith::BitcastOp>(loc, vectorOf(to, lanes), value);
    return isHalf(to) ? fromStorage(b, loc, value, to) : value;
  }
  OperationState state(loc, op.getName(), operands, TypeRange{vectorOf(computeType(to), lanes)}, op.getAttrs());
  if (contract && llvm::isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op)) {
    auto flags = llvm::cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
    state.attributes.set("fastmath",
                         arith::FastMathFlagsAttr::get(b.getContext(), flags | arith::FastMathFlags::contract));
  }
  Value result = b.create(state)->getResult(0);
  // Values of 16 bits keep more precision from op to op, but not where an integer becomes one.
  if (isHalf(to) && llvm::isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return round(result, to);
  return result;
}

} // namespace tcc::codegen
