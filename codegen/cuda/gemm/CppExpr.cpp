//===- CppExpr.cpp --------------------------------------------------------===//
#include "codegen/cuda/gemm/CppExpr.h"

#include <set>

using namespace mlir;

namespace tcc::codegen::cuda {

std::string cppExpr(AffineExpr expr, Names dims, IndexSimplifier &ranges) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()].str();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return "s" + std::to_string(symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto isNegative = [](AffineExpr side) {
    auto constant = dyn_cast<AffineConstantExpr>(side);
    return constant && constant.getValue() < 0;
  };
  std::string lhs = cppExpr(binary.getLHS(), dims, ranges), rhs = cppExpr(binary.getRHS(), dims, ranges);
  bool plain = ranges.isNonNegative(binary.getLHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (isNegative(binary.getRHS()))
      return "(" + lhs + " - " + rhs.substr(1) + ")";
    return "(" + lhs + " + " + rhs + ")";
  case AffineExprKind::Mul:
    return lhs + " * " + (isNegative(binary.getRHS()) ? "(" + rhs + ")" : rhs);
  case AffineExprKind::FloorDiv:
    return plain ? "(" + lhs + " / " + rhs + ")" : "tcc::floor_div(" + lhs + ", " + rhs + ")";
  case AffineExprKind::CeilDiv:
    return "tcc::ceil_div(" + lhs + ", " + rhs + ")";
  case AffineExprKind::Mod:
    return plain ? "(" + lhs + " % " + rhs + ")"
                 : "(" + lhs + " - tcc::floor_div(" + lhs + ", " + rhs + ") * " + rhs + ")";
  default:
    return "0";
  }
}

SmallVector<unsigned> symbolsIn(ArrayRef<AffineExpr> exprs) {
  std::set<unsigned> found;
  for (AffineExpr expr : exprs)
    if (expr)
      expr.walk([&](AffineExpr e) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
          found.insert(symbol.getPosition());
      });
  return {found.begin(), found.end()};
}

std::string elementText(Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isF16())
    return "__half";
  if (element.isBF16())
    return "__nv_bfloat16";
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return "";
  bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
  switch (integer.getWidth()) {
  case 1:
  case 8:
    return isUnsigned ? "unsigned char" : "signed char";
  case 16:
    return isUnsigned ? "unsigned short" : "short";
  case 32:
    return isUnsigned ? "unsigned" : "int";
  case 64:
    return isUnsigned ? "unsigned long long" : "long long";
  default:
    return "";
  }
}

} // namespace tcc::codegen::cuda
