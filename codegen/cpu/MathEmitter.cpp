//===- MathEmitter.cpp - float arithmetic in few words --------------------===//
#include "codegen/cpu/MathEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tcc::codegen {

Type MathEmitter::withElement(Type shape, Type element) {
  if (auto vector = llvm::dyn_cast<VectorType>(shape))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value MathEmitter::c(double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(floatType), value);
  if (auto vector = llvm::dyn_cast<VectorType>(floatType))
    attr = DenseElementsAttr::get(vector, llvm::cast<Attribute>(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

Value MathEmitter::ci(int64_t value) {
  Type type = intType();
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = llvm::dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, llvm::cast<Attribute>(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

Value MathEmitter::fma(Value x, Value y, Value z) { return b.create<math::FmaOp>(loc, x, y, z); }
Value MathEmitter::sqrt(Value x) { return b.create<math::SqrtOp>(loc, x); }
Value MathEmitter::abs(Value x) { return b.create<math::AbsFOp>(loc, x); }
Value MathEmitter::trunc(Value x) { return b.create<math::TruncOp>(loc, x); }
Value MathEmitter::roundEven(Value x) { return b.create<math::RoundEvenOp>(loc, x); }
Value MathEmitter::copySign(Value x, Value sign) { return b.create<math::CopySignOp>(loc, x, sign); }

Value MathEmitter::poly(Value x, llvm::ArrayRef<double> coefficients) {
  Value result = c(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, c(coefficient));
  return result;
}

Value MathEmitter::notB(Value x) {
  TypedAttr attr = b.getBoolAttr(true);
  if (auto vector = llvm::dyn_cast<VectorType>(x.getType()))
    attr = DenseElementsAttr::get(vector, true);
  return b.create<arith::XOrIOp>(loc, x, b.create<arith::ConstantOp>(loc, attr));
}

Value MathEmitter::signBit(Value x) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, toBits(x), ci(0));
}

Value MathEmitter::widen(Value x) {
  if (isDouble())
    return x;
  return b.create<arith::ExtFOp>(loc, withElement(floatType, b.getF64Type()), x);
}

Value MathEmitter::narrow(Value x) {
  if (isDouble())
    return x;
  return b.create<arith::TruncFOp>(loc, floatType, x);
}

Value MathEmitter::any(Value condition) {
  if (!llvm::isa<VectorType>(condition.getType()))
    return condition;
  return b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, condition);
}

Value MathEmitter::table(llvm::StringRef name, llvm::ArrayRef<double> values, Value index) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto type = MemRefType::get({static_cast<int64_t>(values.size())}, b.getF64Type());
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto elements = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), b.getF64Type()), values);
    b.create<memref::GlobalOp>(loc, name, b.getStringAttr("private"), type, elements, /*constant=*/true, IntegerAttr());
  }
  Value memory = b.create<memref::GetGlobalOp>(loc, type, name);
  Type wide = withElement(floatType, b.getF64Type());
  Value at = b.create<arith::IndexCastOp>(loc, withElement(floatType, b.getIndexType()), index);
  auto vector = llvm::dyn_cast<VectorType>(wide);
  if (!vector)
    return b.create<memref::LoadOp>(loc, memory, at);
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value all =
      b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get(vector.getShape(), b.getI1Type()), true));
  Value pass = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector));
  return b.create<vector::GatherOp>(loc, vector, memory, ValueRange{zero}, at, all, pass);
}

Values MathEmitter::ifAny(Value condition, llvm::function_ref<Values(MathEmitter &)> then, Values otherwise) {
  auto branch = b.create<scf::IfOp>(loc, ValueRange(otherwise).getTypes(), any(condition), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  b.create<scf::YieldOp>(loc, then(*this));
  b.setInsertionPointToEnd(branch.elseBlock());
  b.create<scf::YieldOp>(loc, otherwise);
  return Values(branch.getResults());
}

Value MathEmitter::whileAny(Value x, llvm::function_ref<Value(MathEmitter &, Value)> condition,
                            llvm::function_ref<Value(MathEmitter &, Value)> step) {
  auto loop = b.create<scf::WhileOp>(loc, TypeRange{x.getType()}, ValueRange{x});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, {x.getType()}, {loc});
  Value more = any(condition(*this, before->getArgument(0)));
  b.create<scf::ConditionOp>(loc, more, ValueRange{before->getArgument(0)});
  Block *after = b.createBlock(&loop.getAfter(), {}, {x.getType()}, {loc});
  b.create<scf::YieldOp>(loc, ValueRange{step(*this, after->getArgument(0))});
  return loop.getResult(0);
}

} // namespace tcc::codegen
