//===- IndexRange.cpp - whether indices fit in 32 bits --------------------===//
#include "codegen/cuda/loops/IndexRange.h"

#include <algorithm>

#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {

// Null: leaves 32 bits.
std::optional<IndexRange::Range> IndexRange::bound(AffineExpr expr, llvm::ArrayRef<AffineExpr> extents) {
  auto checked = [](int64_t low, int64_t high) -> std::optional<Range> {
    if (low < INT32_MIN || high > INT32_MAX)
      return std::nullopt;
    return Range{low, high};
  };
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return checked(constant.getValue(), constant.getValue());
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr)) {
    auto [low, high] = ir::getRange(expr, symbols);
    return checked(low, high);
  }
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= extents.size())
      return std::nullopt;
    std::optional<Range> extent = bound(extents[dim.getPosition()], extents);
    return extent ? checked(0, std::max<int64_t>(extent->high, 1) - 1) : extent;
  }
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  std::optional<Range> lhs = bound(binary.getLHS(), extents), rhs = bound(binary.getRHS(), extents);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return checked(lhs->low + rhs->low, lhs->high + rhs->high);
  case AffineExprKind::Mul: {
    auto [low, high] =
        std::minmax({lhs->low * rhs->low, lhs->low * rhs->high, lhs->high * rhs->low, lhs->high * rhs->high});
    return checked(low, high);
  }
  case AffineExprKind::Mod:
    return Range{0, std::max<int64_t>(rhs->high, 1) - 1};
  default: {
    // The quotient by at least 1 is no further from 0.
    int64_t most = std::max(std::abs(lhs->low), std::abs(lhs->high)) + 1;
    return checked(lhs->low >= 0 ? 0 : -most, most);
  }
  }
}

bool IndexRange::fits(AffineExpr expr, llvm::ArrayRef<AffineExpr> extents) { return bound(expr, extents).has_value(); }

bool IndexRange::fits(const LoopNest &nest) {
  for (AffineExpr extent : nest.extents)
    if (!fits(extent, nest.extents))
      return false;
  for (auto &[op, offset] : nest.offset)
    if (!fits(offset, nest.extents))
      return false;
  for (AffineExpr offset : nest.resultOffset)
    if (!fits(offset, nest.extents))
      return false;
  for (auto &[value, expr] : nest.index)
    if (!fits(expr, nest.extents))
      return false;
  for (auto &[op, conditions] : nest.conditions)
    for (AffineExpr expr : conditions.exprs)
      if (!fits(expr, nest.extents))
        return false;
  return true;
}

} // namespace tcc::codegen::cuda
