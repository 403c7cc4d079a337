//===- Reduction.cpp - how reductions start and go on ---------------------===//
#include "codegen/schedule/Reduction.h"

#include "codegen/schedule/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

} // namespace

// Max and min are of signed integers, as bodies are signless; true is more than false.
static bool isUnsigned(const LoopNest &nest, unsigned result) {
  return elementOf(nest.op.getResult(result)).isInteger(1);
}

ir::ReduceKind reduceKind(const LoopNest &nest, unsigned result) {
  return llvm::cast<ir::ReduceKindAttr>(nest.op.getKinds()[result]).getValue();
}

Value reduceIdentity(OpBuilder &b, const LoopNest &nest, unsigned result, int64_t lanes) {
  Location loc = nest.op.getLoc();
  Type type = computeType(elementOf(nest.op.getResult(result)));
  TypedAttr value;
  ir::ReduceKind kind = reduceKind(nest, result);
  if (auto floatType = llvm::dyn_cast<FloatType>(type)) {
    if (kind == ir::ReduceKind::Max || kind == ir::ReduceKind::Min)
      value = b.getFloatAttr(type, llvm::APFloat::getInf(floatType.getFloatSemantics(), kind == ir::ReduceKind::Max));
    else
      value = b.getFloatAttr(type, kind == ir::ReduceKind::Prod ? 1.0 : 0.0);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool isSigned = !isUnsigned(nest, result);
    llvm::APInt number(width, 0);
    if (kind == ir::ReduceKind::Prod)
      number = llvm::APInt(width, 1);
    else if (kind == ir::ReduceKind::Max)
      number = isSigned ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width);
    else if (kind == ir::ReduceKind::Min)
      number = isSigned ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
    value = b.getIntegerAttr(type, number);
  }
  if (lanes > 1)
    value = DenseElementsAttr::get(VectorType::get({lanes}, type), llvm::cast<Attribute>(value));
  return b.create<arith::ConstantOp>(loc, value);
}

Value reduceCombine(OpBuilder &b, const LoopNest &nest, unsigned result, Value x, Value y) {
  Location loc = nest.op.getLoc();
  bool isFloat = llvm::isa<FloatType>(getElementTypeOrSelf(x.getType()));
  bool isUnsignedInt = !isFloat && isUnsigned(nest, result);
  switch (reduceKind(nest, result)) {
  case ir::ReduceKind::Prod:
    return isFloat ? b.create<arith::MulFOp>(loc, x, y).getResult() : b.create<arith::MulIOp>(loc, x, y).getResult();
  case ir::ReduceKind::Max: {
    if (!isFloat)
      return isUnsignedInt ? b.create<arith::MaxUIOp>(loc, x, y).getResult()
                           : b.create<arith::MaxSIOp>(loc, x, y).getResult();
    return b.create<arith::MaximumFOp>(loc, x, y, arith::FastMathFlags::nsz);
  }
  case ir::ReduceKind::Min: {
    if (!isFloat)
      return isUnsignedInt ? b.create<arith::MinUIOp>(loc, x, y).getResult()
                           : b.create<arith::MinSIOp>(loc, x, y).getResult();
    return b.create<arith::MinimumFOp>(loc, x, y, arith::FastMathFlags::nsz);
  }
  default:
    return isFloat ? b.create<arith::AddFOp>(loc, x, y, arith::FastMathFlags::contract).getResult()
                   : b.create<arith::AddIOp>(loc, x, y).getResult();
  }
}

} // namespace tcc::codegen
