//===- Registers.cpp - symbols and expressions in a plan's registers ------===//
#include "codegen/plan/Registers.h"

using namespace mlir;

namespace tcc::codegen {

bool Registers::isBound(unsigned symbol) const {
  if (symbol < numInputSymbols)
    return true;
  return llvm::any_of(scopes, [&](const Scope &scope) { return llvm::is_contained(scope.bound, symbol); });
}

bool Registers::isBound(AffineExpr expr) const {
  bool bound = true;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      bound = bound && isBound(symbol.getPosition());
  });
  return bound;
}

bool Registers::isKnownAtStart(AffineExpr expr) const {
  bool known = true;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      known = known && symbol.getPosition() < numInputSymbols;
  });
  return known;
}

Operand Registers::emit(AffineExpr expr, std::vector<Instruction> &block) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Operand::Imm(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return Operand::Reg(static_cast<RegisterId>(symbol.getPosition()));
  bool atStart = isKnownAtStart(expr);
  if (atStart) {
    if (auto it = knownAtStart.find(expr); it != knownAtStart.end())
      return it->second;
  } else {
    for (Scope &scope : scopes)
      if (auto it = scope.known.find(expr); it != scope.known.end())
        return it->second;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  IntOp op = IntOp::kAdd;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    op = IntOp::kAdd;
    break;
  case AffineExprKind::Mul:
    op = IntOp::kMul;
    break;
  case AffineExprKind::FloorDiv:
    op = IntOp::kFloorDiv;
    break;
  case AffineExprKind::CeilDiv:
    op = IntOp::kCeilDiv;
    break;
  case AffineExprKind::Mod:
    op = IntOp::kMod;
    break;
  default:
    llvm_unreachable("dimensions do not occur in extents");
  }
  Operand lhs = emit(binary.getLHS(), block), rhs = emit(binary.getRHS(), block);
  plan::Compute compute{makeRegister(), op, lhs, rhs};
  (atStart ? start : block).push_back(compute);
  Operand result = Operand::Reg(compute.result);
  (atStart ? knownAtStart : scopes.back().known)[expr] = result;
  return result;
}

} // namespace tcc::codegen
