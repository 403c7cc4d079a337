//===- ScalarOps.cpp - pointwise ops on scalars ---------------------------===//
#include "codegen/fusion/ScalarOps.h"

#include "codegen/fusion/KernelBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Emits the scalar form of one op. `type` is the element type of the first operand with its sign.
class Emitter {
public:
  Emitter(OpBuilder &b, Operation *op, Type type) : b(b), loc(op->getLoc()), op(op), type(type) {
    isFloat = isa<FloatType>(type);
    isBool = type.isInteger(1);
    isUnsigned = type.isUnsignedInteger() || isBool;
  }

  Value unary(Value x) {
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<ir::AbsOp>([&](auto) { return isFloat      ? make<math::AbsFOp>(x)
                                            : isUnsigned ? x
                                                         : make<math::AbsIOp>(x); })
        .Case<ir::NegOp>([&](auto) {
          return isBool ? Value() : isFloat ? make<arith::NegFOp>(x) : make<arith::SubIOp>(number(0), x);
        })
        .Case<ir::SignOp>([&](auto) { return sign(x); })
        .Case<ir::CeilOp>([&](auto) { return isFloat ? make<math::CeilOp>(x) : x; })
        .Case<ir::FloorOp>([&](auto) { return isFloat ? make<math::FloorOp>(x) : x; })
        .Case<ir::RoundOp>([&](auto) { return isFloat ? make<math::RoundEvenOp>(x) : x; })
        .Case<ir::TruncOp>([&](auto) { return isFloat ? make<math::TruncOp>(x) : x; })
        .Case<ir::SqrtOp>([&](auto) { return real<math::SqrtOp>(x); })
        .Case<ir::RsqrtOp>(
            [&](auto) { return isFloat ? make<arith::DivFOp>(number(1), make<math::SqrtOp>(x)) : Value(); })
        .Case<ir::ReciprocalOp>([&](auto) { return isFloat ? make<arith::DivFOp>(number(1), x) : Value(); })
        .Case<ir::ExpOp>([&](auto) { return real<math::ExpOp>(x); })
        .Case<ir::Expm1Op>([&](auto) { return real<math::ExpM1Op>(x); })
        .Case<ir::LogOp>([&](auto) { return real<math::LogOp>(x); })
        .Case<ir::Log1pOp>([&](auto) { return real<math::Log1pOp>(x); })
        .Case<ir::SinOp>([&](auto) { return real<math::SinOp>(x); })
        .Case<ir::CosOp>([&](auto) { return real<math::CosOp>(x); })
        .Case<ir::TanOp>([&](auto) { return real<math::TanOp>(x); })
        .Case<ir::AsinOp>([&](auto) { return real<math::AsinOp>(x); })
        .Case<ir::AcosOp>([&](auto) { return real<math::AcosOp>(x); })
        .Case<ir::AtanOp>([&](auto) { return real<math::AtanOp>(x); })
        .Case<ir::SinhOp>([&](auto) { return real<math::SinhOp>(x); })
        .Case<ir::CoshOp>([&](auto) { return real<math::CoshOp>(x); })
        .Case<ir::TanhOp>([&](auto) { return real<math::TanhOp>(x); })
        .Case<ir::AsinhOp>([&](auto) { return real<math::AsinhOp>(x); })
        .Case<ir::AcoshOp>([&](auto) { return real<math::AcoshOp>(x); })
        .Case<ir::AtanhOp>([&](auto) { return real<math::AtanhOp>(x); })
        .Case<ir::ErfOp>([&](auto) { return real<math::ErfOp>(x); })
        .Case<ir::SigmoidOp>([&](auto) { return sigmoid(x); })
        .Case<ir::NotOp>([&](auto) { return isFloat ? Value() : make<arith::XOrIOp>(x, number(isBool ? 1 : -1)); })
        .Case<ir::IsNanOp>([&](auto) { return isFloat ? compare(arith::CmpFPredicate::UNO, x, x) : Value(); })
        .Case<ir::IsInfOp>([&](ir::IsInfOp test) { return isInf(test, x); })
        .Default([](Operation *) { return Value(); });
  }

  Value binary(Value a, Value c) {
    if (isBool && !isa<ir::AndOp, ir::OrOp, ir::XorOp, ir::MaxOp, ir::MinOp, ir::CompareOp>(op))
      return {};
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<ir::AddOp>([&](auto) { return isFloat ? make<arith::AddFOp>(a, c) : make<arith::AddIOp>(a, c); })
        .Case<ir::SubOp>([&](auto) { return isFloat ? make<arith::SubFOp>(a, c) : make<arith::SubIOp>(a, c); })
        .Case<ir::MulOp>([&](auto) { return isFloat ? make<arith::MulFOp>(a, c) : make<arith::MulIOp>(a, c); })
        .Case<ir::DivOp>([&](auto) { return isFloat ? make<arith::DivFOp>(a, c) : intDiv(a, c); })
        .Case<ir::ModOp>([&](auto) { return isFloat ? floatMod(a, c) : intRem(a, c, /*floor=*/true); })
        .Case<ir::FmodOp>([&](auto) { return isFloat ? make<arith::RemFOp>(a, c) : intRem(a, c, /*floor=*/false); })
        .Case<ir::PowOp>([&](auto) { return power(a, c); })
        .Case<ir::Atan2Op>([&](auto) { return isFloat ? make<math::Atan2Op>(a, c) : Value(); })
        .Case<ir::MaxOp>([&](auto) {
          return isFloat      ? make<arith::MaximumFOp>(a, c)
                 : isUnsigned ? make<arith::MaxUIOp>(a, c)
                              : make<arith::MaxSIOp>(a, c);
        })
        .Case<ir::MinOp>([&](auto) {
          return isFloat      ? make<arith::MinimumFOp>(a, c)
                 : isUnsigned ? make<arith::MinUIOp>(a, c)
                              : make<arith::MinSIOp>(a, c);
        })
        .Case<ir::AndOp>([&](auto) { return isFloat ? Value() : make<arith::AndIOp>(a, c); })
        .Case<ir::OrOp>([&](auto) { return isFloat ? Value() : make<arith::OrIOp>(a, c); })
        .Case<ir::XorOp>([&](auto) { return isFloat ? Value() : make<arith::XOrIOp>(a, c); })
        .Case<ir::ShiftLeftOp>([&](auto) { return isFloat ? Value() : shift(a, c, /*left=*/true); })
        .Case<ir::ShiftRightOp>([&](auto) { return isFloat ? Value() : shift(a, c, /*left=*/false); })
        .Case<ir::CompareOp>([&](ir::CompareOp compareOp) { return compareScalars(compareOp.getPredicate(), a, c); })
        .Default([](Operation *) { return Value(); });
  }

private:
  template <typename Op, typename... Args> Value make(Args... args) { return b.create<Op>(loc, args...); }
  template <typename Op> Value real(Value x) { return isFloat ? make<Op>(x) : Value(); }
  Value number(double value) {
    Type t = computeType(type);
    if (isa<FloatType>(t))
      return b.create<arith::ConstantOp>(loc, b.getFloatAttr(t, value));
    return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(t, static_cast<int64_t>(value)));
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value c) { return make<arith::CmpFOp>(predicate, a, c); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value c) { return make<arith::CmpIOp>(predicate, a, c); }
  Value select(Value condition, Value a, Value c) { return make<arith::SelectOp>(condition, a, c); }

  Value sign(Value x) {
    if (isBool)
      return x;
    if (isFloat) {
      Value positive = compare(arith::CmpFPredicate::OGT, x, number(0)),
            negative = compare(arith::CmpFPredicate::OLT, x, number(0));
      // Zeros and NaN stay what they are.
      return select(positive, number(1), select(negative, number(-1), x));
    }
    Value nonZero = compare(arith::CmpIPredicate::ne, x, number(0));
    Value result = select(nonZero, number(1), number(0));
    return isUnsigned ? result : select(compare(arith::CmpIPredicate::slt, x, number(0)), number(-1), result);
  }

  /// Where exp overflows, 1 / infinity is the 0 that is asked for.
  Value sigmoid(Value x) {
    if (!isFloat)
      return {};
    Value one = number(1), e = make<math::ExpOp>(make<arith::NegFOp>(x));
    return make<arith::DivFOp>(one, make<arith::AddFOp>(one, e));
  }

  Value isInf(ir::IsInfOp test, Value x) {
    if (!isFloat)
      return {};
    double infinity = std::numeric_limits<double>::infinity();
    Value result = b.create<arith::ConstantOp>(loc, b.getBoolAttr(false));
    if (test.getDetectPositive())
      result = compare(arith::CmpFPredicate::OEQ, x, number(infinity));
    if (test.getDetectNegative())
      result = make<arith::OrIOp>(result, compare(arith::CmpFPredicate::OEQ, x, number(-infinity)));
    return result;
  }

  Value intDiv(Value a, Value c) {
    Value zero = number(0), isZero = compare(arith::CmpIPredicate::eq, c, zero);
    if (isUnsigned)
      return select(isZero, zero, make<arith::DivUIOp>(a, select(isZero, number(1), c)));
    Value isMinusOne = compare(arith::CmpIPredicate::eq, c, number(-1));
    Value safe = select(make<arith::OrIOp>(isZero, isMinusOne), number(1), c);
    Value quotient = make<arith::DivSIOp>(a, safe);
    quotient = select(isMinusOne, make<arith::SubIOp>(zero, a), quotient);
    return select(isZero, zero, quotient);
  }

  Value intRem(Value a, Value c, bool floor) {
    Value zero = number(0), isZero = compare(arith::CmpIPredicate::eq, c, zero);
    if (isUnsigned)
      return select(isZero, zero, make<arith::RemUIOp>(a, select(isZero, number(1), c)));
    // Dividing by 1 or -1 leaves 0, as asked for by a divisor of 0; the smallest integer by -1 is not defined.
    Value isMinusOne = compare(arith::CmpIPredicate::eq, c, number(-1));
    Value safe = select(make<arith::OrIOp>(isZero, isMinusOne), number(1), c);
    Value rest = make<arith::RemSIOp>(a, safe);
    if (!floor)
      return rest;
    Value differ = compare(arith::CmpIPredicate::slt, make<arith::XOrIOp>(rest, safe), zero);
    Value adjust = make<arith::AndIOp>(compare(arith::CmpIPredicate::ne, rest, zero), differ);
    return select(adjust, make<arith::AddIOp>(rest, safe), rest);
  }

  Value floatMod(Value a, Value c) {
    Value zero = number(0), rest = make<arith::RemFOp>(a, c);
    Value isZero = compare(arith::CmpFPredicate::OEQ, rest, zero);
    Value restNegative = compare(arith::CmpFPredicate::OLT, rest, zero),
          divisorNegative = compare(arith::CmpFPredicate::OLT, c, zero);
    Value differ = make<arith::XOrIOp>(restNegative, divisorNegative);
    Value adjusted = select(differ, make<arith::AddFOp>(rest, c), rest);
    return select(isZero, make<math::CopySignOp>(zero, c), adjusted);
  }

  Value shift(Value a, Value c, bool left) {
    unsigned width = type.getIntOrFloatBitWidth();
    Value tooFar = compare(arith::CmpIPredicate::uge, c, number(width));
    if (!left && !isUnsigned)
      return make<arith::ShRSIOp>(a, select(tooFar, number(width - 1), c));
    Value safe = select(tooFar, number(0), c);
    Value shifted = left ? make<arith::ShLIOp>(a, safe) : make<arith::ShRUIOp>(a, safe);
    return select(tooFar, number(0), shifted);
  }

  Value power(Value a, Value c) {
    if (!isFloat)
      return {};
    // Small constant exponents, also behind a broadcast.
    Value exponent = op->getOperand(1);
    if (auto broadcast = exponent.getDefiningOp<ir::BroadcastOp>())
      exponent = broadcast.getX();
    SplatElementsAttr splat;
    if (matchPattern(exponent, m_Constant(&splat)) && isa<FloatType>(splat.getElementType())) {
      double value = splat.getSplatValue<APFloat>().convertToDouble();
      if (value == 1)
        return a;
      if (value == 2)
        return make<arith::MulFOp>(a, a);
      if (value == 3)
        return make<arith::MulFOp>(make<arith::MulFOp>(a, a), a);
      if (value == -1)
        return make<arith::DivFOp>(number(1), a);
    }
    return make<math::PowFOp>(a, c);
  }

  Value compareScalars(ir::Predicate predicate, Value a, Value c) {
    static constexpr arith::CmpFPredicate kFloat[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                      arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                      arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    static constexpr arith::CmpIPredicate kSigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                       arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                       arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
    static constexpr arith::CmpIPredicate kUnsigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                         arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                                         arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
    auto which = static_cast<unsigned>(predicate);
    return isFloat ? compare(kFloat[which], a, c) : compare(isUnsigned ? kUnsigned[which] : kSigned[which], a, c);
  }

  OpBuilder &b;
  Location loc;
  Operation *op;
  Type type;
  bool isFloat, isBool, isUnsigned;
};

} // namespace

Value emitScalarOp(OpBuilder &b, Operation *op, ValueRange operands) {
  auto elementOf = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); };
  llvm::SmallVector<Value> tensors(op->getOperands());
  llvm::append_range(tensors, op->getResults());
  for (Value value : tensors)
    if (!isKernelElement(elementOf(value)))
      return {};
  Type result = elementOf(op->getResult(0));
  Location loc = op->getLoc();
  if (isa<ir::SelectOp>(op))
    return b.create<arith::SelectOp>(loc, operands[0], operands[1], operands[2]);
  if (isa<ir::CastOp>(op))
    return emitScalarCast(b, loc, operands[0], elementOf(op->getOperand(0)), result);
  if (isa<ir::BitcastOp>(op)) {
    if (signless(result) == operands[0].getType())
      return operands[0];
    if (result.isInteger(1) || operands[0].getType().isInteger(1))
      return {};
    return b.create<arith::BitcastOp>(loc, signless(result), operands[0]);
  }
  llvm::SmallVector<Value> scalars;
  for (Value operand : operands)
    scalars.push_back(toCompute(b, loc, operand));
  Emitter emitter(b, op, elementOf(op->getOperand(0)));
  Value value = scalars.size() == 1   ? emitter.unary(scalars[0])
                : scalars.size() == 2 ? emitter.binary(scalars[0], scalars[1])
                                      : Value();
  if (!value)
    return {};
  return isa<FloatType>(value.getType()) ? fromCompute(b, loc, value, result) : value;
}

} // namespace tcc::codegen
