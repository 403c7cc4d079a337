//===- Cost.cpp - estimates of work and traffic ---------------------------===//
#include "codegen/plan/Cost.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

double value(AffineExpr expr, ArrayAttr symbols) {
  if (std::optional<int64_t> constant = ir::getConstant(expr))
    return static_cast<double>(*constant);
  return static_cast<double>(std::max<int64_t>(1, ir::getRange(expr, symbols).first));
}

double elements(ArrayRef<AffineExpr> extents, ArrayAttr symbols) {
  double count = 1;
  for (AffineExpr extent : extents)
    count *= value(extent, symbols);
  return count;
}

double bytesOf(Type type, ArrayAttr symbols) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  double bits = element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 64;
  return elements(ir::getExtents(tensor), symbols) * bits / 8;
}

/// Multiply-adds of a contraction: the result's elements times the length of what is summed.
double contraction(Operation *op, ArrayAttr symbols) {
  auto extents = [&](Value v) { return ir::getExtents(v.getType()); };
  double result = elements(ir::getExtents(op->getResult(0).getType()), symbols);
  if (isa<ir::MatmulOp>(op))
    return result * value(extents(op->getOperand(0)).back(), symbols);
  if (isa<ir::ConvOp>(op)) {
    ir::Exprs w = extents(op->getOperand(1));
    return result * elements(ArrayRef(w).drop_front(), symbols);
  }
  if (isa<ir::ConvTransposeOp>(op)) {
    ir::Exprs w = extents(op->getOperand(1));
    return elements(extents(op->getOperand(0)), symbols) * elements(ArrayRef(w).drop_front(), symbols);
  }
  if (isa<ir::AttentionOp>(op)) {
    ir::Exprs q = extents(op->getOperand(0)), k = extents(op->getOperand(1)), v = extents(op->getOperand(2));
    return elements(ArrayRef(q).drop_back(), symbols) * value(k[2], symbols) *
           (value(q[3], symbols) + value(v[3], symbols));
  }
  return 0;
}

bool isExpensive(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp>(op);
}

} // namespace

double estimateElements(Type tensorType, Operation *context) {
  return elements(ir::getExtents(tensorType), ir::getSymbols(context));
}

Cost estimateCost(Operation *op) {
  ArrayAttr symbols = ir::getSymbols(op);
  Cost cost;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      cost.bytes += bytesOf(operand.getType(), symbols);
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      cost.bytes += bytesOf(result.getType(), symbols);
  auto kernel = dyn_cast<ir::KernelOp>(op);
  if (!kernel) {
    cost.flops = 2 * contraction(op, symbols);
    if (cost.flops == 0 && op->getNumResults() > 0)
      cost.flops = elements(ir::getExtents(op->getResult(0).getType()), symbols);
    return cost;
  }
  for (Operation &inner : kernel.getBody().front().without_terminator()) {
    auto loops = dyn_cast<ir::LoopsOp>(inner);
    if (!loops) {
      cost.flops += 2 * contraction(&inner, symbols);
      continue;
    }
    double perElement = loops.getNumReductions() > 0 ? 1 : 0;
    for (Operation &scalar : loops.getBody().front()) {
      if (isExpensive(&scalar))
        perElement += 8;
      else if (isa<arith::ArithDialect>(scalar.getDialect()) && !scalar.hasTrait<OpTrait::ConstantLike>())
        perElement += 1;
    }
    cost.flops += perElement * elements(loops.getExtents().getExprs(), symbols);
  }
  return cost;
}

} // namespace tcc::codegen
