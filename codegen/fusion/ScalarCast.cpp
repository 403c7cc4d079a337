//===- ScalarCast.cpp - conversions of scalars ----------------------------===//
#include "codegen/fusion/KernelBuilder.h"
#include "codegen/fusion/ScalarOps.h"
#include "codegen/schedule/RoundOnce.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Truncation towards zero; out of range the nearest bound, NaN 0. `arith.fptosi` is only given what it is defined for.
Value floatToInt(OpBuilder &b, Location loc, Value x, IntegerType to) {
  auto type = cast<FloatType>(x.getType());
  unsigned width = to.getWidth();
  bool isUnsigned = to.isUnsigned();
  Type result = signless(to);
  auto real = [&](double value) -> Value { return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value)); };
  auto integer = [&](const APInt &value) -> Value {
    return b.create<arith::ConstantOp>(loc, IntegerAttr::get(result, value));
  };
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Value below = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, real(low));
  Value above = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, x, real(high));
  Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  Value outside = b.create<arith::OrIOp>(loc, b.create<arith::OrIOp>(loc, below, above), isNan);
  Value safe = b.create<arith::SelectOp>(loc, outside, real(0), x);
  Value converted = isUnsigned ? b.create<arith::FPToUIOp>(loc, result, safe).getResult()
                               : b.create<arith::FPToSIOp>(loc, result, safe).getResult();
  APInt min = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt max = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  converted = b.create<arith::SelectOp>(loc, above, integer(max), converted);
  return b.create<arith::SelectOp>(loc, below, integer(min), converted);
}

Value zeroOf(OpBuilder &b, Location loc, Type type) { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)); }

} // namespace

Value emitScalarCast(OpBuilder &b, Location loc, Value scalar, Type from, Type to) {
  if (from == to)
    return scalar;
  if (!isKernelElement(from) || !isKernelElement(to))
    return {};
  scalar = toCompute(b, loc, scalar);
  Type compute = computeType(to);
  if (to.isInteger(1)) {
    Value zero = zeroOf(b, loc, scalar.getType());
    if (isa<FloatType>(scalar.getType()))
      return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, scalar, zero);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, scalar, zero);
  }
  auto fromInt = dyn_cast<IntegerType>(from);
  auto toInt = dyn_cast<IntegerType>(to);
  if (fromInt && toInt) {
    if (fromInt.getWidth() == toInt.getWidth())
      return scalar;
    if (fromInt.getWidth() > toInt.getWidth())
      return b.create<arith::TruncIOp>(loc, compute, scalar);
    if (fromInt.isUnsigned() || fromInt.getWidth() == 1)
      return b.create<arith::ExtUIOp>(loc, compute, scalar);
    return b.create<arith::ExtSIOp>(loc, compute, scalar);
  }
  if (toInt)
    return floatToInt(b, loc, scalar, toInt);
  if (fromInt) {
    bool isUnsigned = fromInt.isUnsigned() || fromInt.getWidth() == 1;
    // Integers that float32 does not hold are beyond float16 anyway.
    if (to.isBF16())
      return fromCompute(b, loc, toFloat32ForHalf(b, loc, scalar, isUnsigned), to, /*asked=*/true);
    Value real = isUnsigned ? b.create<arith::UIToFPOp>(loc, compute, scalar).getResult()
                            : b.create<arith::SIToFPOp>(loc, compute, scalar).getResult();
    return fromCompute(b, loc, real, to, /*asked=*/true);
  }
  if (scalar.getType().isF64() && compute != to)
    return fromCompute(b, loc, toFloat32ForHalf(b, loc, scalar), to, /*asked=*/true);
  unsigned have = scalar.getType().getIntOrFloatBitWidth(), want = compute.getIntOrFloatBitWidth();
  if (have < want)
    scalar = b.create<arith::ExtFOp>(loc, compute, scalar);
  else if (have > want)
    scalar = b.create<arith::TruncFOp>(loc, compute, scalar);
  return fromCompute(b, loc, scalar, to, /*asked=*/true);
}

} // namespace tcc::codegen
