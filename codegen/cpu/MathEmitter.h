//===- MathEmitter.h - float arithmetic in few words --------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tcc::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// Builds arithmetic on f32 or f64, scalars or vectors alike, and on integers and conditions of the same shape.
class MathEmitter {
public:
  using Value = mlir::Value;

  MathEmitter(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type) : b(b), loc(loc), floatType(type) {}

  mlir::Type type() const { return floatType; }
  bool isDouble() const { return mlir::getElementTypeOrSelf(floatType).isF64(); }
  static mlir::Type withElement(mlir::Type shape, mlir::Type element);

  Value c(double value);
  Value ci(int64_t value);
  Value add(Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  Value div(Value x, Value y) { return b.create<mlir::arith::DivFOp>(loc, x, y); }
  Value neg(Value x) { return b.create<mlir::arith::NegFOp>(loc, x); }
  Value fma(Value x, Value y, Value z);
  Value sqrt(Value x);
  Value abs(Value x);
  Value trunc(Value x);
  Value roundEven(Value x);
  Value copySign(Value x, Value sign);
  /// The smaller or larger; where x is NaN, x.
  Value min(Value x, Value y) { return select(lt(y, x), y, x); }
  Value max(Value x, Value y) { return select(gt(y, x), y, x); }
  Value clamp(Value x, double low, double high) { return min(max(x, c(low)), c(high)); }
  /// Horner's rule, lowest coefficient first.
  Value poly(Value x, llvm::ArrayRef<double> coefficients);

  Value cmp(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return b.create<mlir::arith::CmpFOp>(loc, predicate, x, y);
  }
  Value lt(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value gt(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OGT, x, y); }
  Value ge(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OGE, x, y); }
  Value eq(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value ne(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::UNE, x, y); }
  Value notGe(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::ULT, x, y); }
  Value isNan(Value x) { return cmp(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value select(Value condition, Value x, Value y) { return b.create<mlir::arith::SelectOp>(loc, condition, x, y); }
  Value andB(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value orB(Value x, Value y) { return b.create<mlir::arith::OrIOp>(loc, x, y); }
  Value notB(Value x);
  Value signBit(Value x);

  Value addI(Value x, Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  Value subI(Value x, Value y) { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value andI(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value orI(Value x, Value y) { return b.create<mlir::arith::OrIOp>(loc, x, y); }
  Value minI(Value x, Value y) { return b.create<mlir::arith::MinSIOp>(loc, x, y); }
  Value maxI(Value x, Value y) { return b.create<mlir::arith::MaxSIOp>(loc, x, y); }
  Value shl(Value x, int64_t bits) { return b.create<mlir::arith::ShLIOp>(loc, x, ci(bits)); }
  Value shrS(Value x, int64_t bits) { return b.create<mlir::arith::ShRSIOp>(loc, x, ci(bits)); }
  Value shrU(Value x, int64_t bits) { return b.create<mlir::arith::ShRUIOp>(loc, x, ci(bits)); }
  Value neI(Value x, Value y) { return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ne, x, y); }
  Value toInt(Value x) { return b.create<mlir::arith::FPToSIOp>(loc, intType(), x); }
  Value fromInt(Value x) { return b.create<mlir::arith::SIToFPOp>(loc, floatType, x); }
  Value toBits(Value x) { return b.create<mlir::arith::BitcastOp>(loc, intType(), x); }
  Value fromBits(Value x) { return b.create<mlir::arith::BitcastOp>(loc, floatType, x); }

  /// The same shape in f64, and conversions of this emitter's values to and from it (none for f64).
  MathEmitter asDouble() { return {b, loc, withElement(floatType, b.getF64Type())}; }
  Value widen(Value x);
  Value narrow(Value x);
  Value widenCondition(Value x) { return x; }

  /// Elements of a table of doubles, which the module holds once under this name; `index` is an integer of this shape.
  Value table(llvm::StringRef name, llvm::ArrayRef<double> values, Value index);
  /// Runs `then` where the condition holds in any lane, else gives `otherwise`.
  Values ifAny(Value condition, llvm::function_ref<Values(MathEmitter &)> then, Values otherwise);
  /// while (any(condition(x))) x = step(x)
  Value whileAny(Value x, llvm::function_ref<Value(MathEmitter &, Value)> condition,
                 llvm::function_ref<Value(MathEmitter &, Value)> step);

private:
  mlir::Type intType() { return withElement(floatType, b.getIntegerType(isDouble() ? 64 : 32)); }
  Value any(Value condition);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type floatType;
};

} // namespace tcc::codegen
