//===- Cost.cpp - estimates of work and traffic ---------------------------===//
#include "codegen/plan/Cost.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// A number, and the same as an expression over symbols, in postfix: "s0:2" is symbol 0, whose smallest value is 2.
struct Amount {
  double least = 0;
  std::string text; ///< empty: `least` is all there is
};

std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
  return text;
}

std::string textOf(const Amount &amount) { return amount.text.empty() ? number(amount.least) : amount.text; }

Amount combine(const Amount &a, const Amount &b, double least, StringRef operation) {
  if (a.text.empty() && b.text.empty())
    return {least, ""};
  return {least, textOf(a) + " " + textOf(b) + " " + operation.str()};
}

Amount operator*(const Amount &a, const Amount &b) { return combine(a, b, a.least * b.least, "*"); }
Amount operator+(const Amount &a, const Amount &b) {
  if (a.text.empty() && a.least == 0)
    return b;
  if (b.text.empty() && b.least == 0)
    return a;
  return combine(a, b, a.least + b.least, "+");
}
Amount operator*(double a, const Amount &b) { return Amount{a, ""} * b; }

std::string postfix(AffineExpr expr, ArrayAttr symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return "s" + std::to_string(symbol.getPosition()) + ":" +
           std::to_string(std::max<int64_t>(1, ir::getRange(expr, symbols).first));
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return "1";
  StringRef operation = "+";
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    operation = "*";
    break;
  case AffineExprKind::FloorDiv:
    operation = "/";
    break;
  case AffineExprKind::CeilDiv:
    operation = "ceil";
    break;
  case AffineExprKind::Mod:
    operation = "%";
    break;
  default:
    break;
  }
  return postfix(binary.getLHS(), symbols) + " " + postfix(binary.getRHS(), symbols) + " " + operation.str();
}

Amount value(AffineExpr expr, ArrayAttr symbols) {
  if (std::optional<int64_t> constant = ir::getConstant(expr))
    return {static_cast<double>(*constant), ""};
  return {static_cast<double>(std::max<int64_t>(1, ir::getRange(expr, symbols).first)), postfix(expr, symbols)};
}

Amount elements(ArrayRef<AffineExpr> extents, ArrayAttr symbols) {
  Amount count = {1, ""};
  for (AffineExpr extent : extents)
    count = count * value(extent, symbols);
  return count;
}

Amount bytesOf(Type type, ArrayAttr symbols) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  double bits = element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 64;
  return bits / 8 * elements(ir::getExtents(tensor), symbols);
}

/// Multiply-adds of a contraction: the result's elements times the length of what is summed.
Amount contraction(Operation *op, ArrayAttr symbols) {
  auto extents = [&](Value v) { return ir::getExtents(v.getType()); };
  if (isa<ir::MatmulOp>(op))
    return elements(ir::getExtents(op->getResult(0).getType()), symbols) *
           value(extents(op->getOperand(0)).back(), symbols);
  if (isa<ir::ConvOp>(op)) {
    ir::Exprs w = extents(op->getOperand(1));
    return elements(ir::getExtents(op->getResult(0).getType()), symbols) * elements(ArrayRef(w).drop_front(), symbols);
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
  return {};
}

bool isExpensive(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp>(op);
}

} // namespace

double estimateElements(Type tensorType, Operation *context) {
  return elements(ir::getExtents(tensorType), ir::getSymbols(context)).least;
}

Cost estimateCost(Operation *op) {
  ArrayAttr symbols = ir::getSymbols(op);
  Amount flops, bytes;
  auto result = [&] { return Cost{flops.least, bytes.least, flops.text, bytes.text}; };
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      bytes = bytes + bytesOf(operand.getType(), symbols);
  for (Value made : op->getResults())
    if (isa<RankedTensorType>(made.getType()))
      bytes = bytes + bytesOf(made.getType(), symbols);
  auto kernel = dyn_cast<ir::KernelOp>(op);
  if (!kernel) {
    flops = 2 * contraction(op, symbols);
    if (flops.least == 0 && op->getNumResults() > 0)
      flops = elements(ir::getExtents(op->getResult(0).getType()), symbols);
    return result();
  }
  for (Operation &inner : kernel.getBody().front().without_terminator()) {
    auto loops = dyn_cast<ir::LoopsOp>(inner);
    if (!loops) {
      flops = flops + 2 * contraction(&inner, symbols);
      continue;
    }
    double perElement = loops.getNumReductions() > 0 ? 1 : 0;
    for (Operation &scalar : loops.getBody().front()) {
      if (isExpensive(&scalar))
        perElement += 8;
      else if (isa<arith::ArithDialect>(scalar.getDialect()) && !scalar.hasTrait<OpTrait::ConstantLike>())
        perElement += 1;
    }
    flops = flops + perElement * elements(loops.getExtents().getExprs(), symbols);
  }
  return result();
}

} // namespace tcc::codegen
