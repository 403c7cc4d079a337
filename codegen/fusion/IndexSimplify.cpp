//===- IndexSimplify.cpp - quasi-affine indices with known ranges ---------===//
#include "codegen/fusion/IndexSimplify.h"

#include <map>
#include <numeric>

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// An expression as a sum of products: coefficient times a sorted list of atoms (dimensions, symbols, divisions,
/// remainders).
using Monomial = llvm::SmallVector<AffineExpr, 2>;

bool atomLess(AffineExpr a, AffineExpr b) {
  auto key = [](AffineExpr e) {
    unsigned position = 0;
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      position = dim.getPosition();
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      position = symbol.getPosition();
    return std::make_tuple(e.getKind() == AffineExprKind::DimId      ? 0
                           : e.getKind() == AffineExprKind::SymbolId ? 1
                                                                     : 2,
                           position);
  };
  auto ka = key(a), kb = key(b);
  if (ka != kb)
    return ka < kb;
  if (std::get<0>(ka) != 2 || a == b)
    return false;
  // Compound atoms: by their text, so that the order does not depend on addresses.
  std::string ta, tb;
  llvm::raw_string_ostream(ta) << a;
  llvm::raw_string_ostream(tb) << b;
  return ta < tb;
}
struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), atomLess);
  }
};
using Sum = std::map<Monomial, int64_t, MonomialLess>;

void addTerm(Sum &sum, const Monomial &monomial, int64_t coefficient) {
  int64_t &slot = sum[monomial];
  slot += coefficient;
  if (slot == 0)
    sum.erase(monomial);
}

Sum expand(AffineExpr expr) {
  Sum sum;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    if (constant.getValue() != 0)
      sum[{}] = constant.getValue();
    return sum;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Add) {
    sum = expand(binary.getLHS());
    for (auto &[monomial, coefficient] : expand(binary.getRHS()))
      addTerm(sum, monomial, coefficient);
    return sum;
  }
  if (binary && expr.getKind() == AffineExprKind::Mul) {
    Sum lhs = expand(binary.getLHS()), rhs = expand(binary.getRHS());
    for (auto &[ma, ca] : lhs)
      for (auto &[mb, cb] : rhs) {
        Monomial product = ma;
        llvm::append_range(product, mb);
        llvm::stable_sort(product, atomLess);
        addTerm(sum, product, ca * cb);
      }
    return sum;
  }
  sum[{expr}] = 1;
  return sum;
}

AffineExpr build(const Monomial &monomial, int64_t coefficient, MLIRContext *context) {
  // Symbols and constants on the right: the form mlir accepts for semi-affine products.
  AffineExpr result;
  for (AffineExpr atom : monomial)
    result = result ? result * atom : atom;
  AffineExpr factor = getAffineConstantExpr(coefficient, context);
  return result ? (coefficient == 1 ? result : result * factor) : factor;
}

AffineExpr build(const Sum &sum, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(0, context), constant;
  for (auto &[monomial, coefficient] : sum) {
    if (monomial.empty())
      constant = getAffineConstantExpr(coefficient, context);
    else
      result = result + build(monomial, coefficient, context);
  }
  return constant ? result + constant : result;
}

/// A divisor as one product: a constant times symbols. Other divisors are not looked into.
struct Divisor {
  int64_t coefficient;
  Monomial symbols;
};
std::optional<Divisor> asDivisor(AffineExpr expr) {
  Sum sum = expand(expr);
  if (sum.size() != 1 || sum.begin()->second <= 0)
    return std::nullopt;
  return Divisor{sum.begin()->second, sum.begin()->first};
}

/// The quotient if the divisor divides the term for all values.
std::optional<std::pair<Monomial, int64_t>> divide(const Monomial &monomial, int64_t coefficient,
                                                   const Divisor &divisor) {
  if (coefficient % divisor.coefficient != 0)
    return std::nullopt;
  Monomial rest = monomial;
  for (AffineExpr symbol : divisor.symbols) {
    auto it = llvm::find(rest, symbol);
    if (it == rest.end())
      return std::nullopt;
    rest.erase(it);
  }
  return std::make_pair(rest, coefficient / divisor.coefficient);
}

/// k * a * (x floordiv a) + k * (x mod a) is k * x.
void recombine(Sum &sum) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[monomial, coefficient] : sum) {
      for (size_t i = 0; i < monomial.size() && !changed; ++i) {
        if (monomial[i].getKind() != AffineExprKind::Mod)
          continue;
        auto mod = cast<AffineBinaryOpExpr>(monomial[i]);
        std::optional<Divisor> divisor = asDivisor(mod.getRHS());
        if (!divisor)
          continue;
        Monomial rest = monomial;
        rest.erase(rest.begin() + i);
        Monomial other = rest;
        other.push_back(mod.getLHS().floorDiv(mod.getRHS()));
        llvm::append_range(other, divisor->symbols);
        llvm::stable_sort(other, atomLess);
        auto it = sum.find(other);
        if (it == sum.end() || it->second != coefficient * divisor->coefficient)
          continue;
        int64_t k = coefficient;
        Monomial from = monomial;
        sum.erase(it);
        sum.erase(from);
        for (auto &[inner, c] : expand(mod.getLHS())) {
          Monomial product = rest;
          llvm::append_range(product, inner);
          llvm::stable_sort(product, atomLess);
          addTerm(sum, product, c * k);
        }
        changed = true;
      }
      if (changed)
        break;
    }
  }
}

} // namespace

bool IndexRanges::isNonNegative(AffineExpr expr) const {
  // A lower bound over symbols alone: each atom at the end of its range that makes its term small.
  MLIRContext *context = expr.getContext();
  Sum bound;
  for (auto &[monomial, coefficient] : expand(expr)) {
    // Products of several atoms: all are taken to be non-negative, so the extreme is at their common end.
    AffineExpr low = getAffineConstantExpr(coefficient, context);
    bool atLow = coefficient > 0;
    for (AffineExpr atom : monomial) {
      AffineExpr end; // of the atom's range; null: unknown
      if (isa<AffineSymbolExpr>(atom)) {
        end = atom;
      } else if (auto dim = dyn_cast<AffineDimExpr>(atom)) {
        AffineExpr extent = dim.getPosition() < extents.size() ? extents[dim.getPosition()] : AffineExpr();
        if (extent)
          end = atLow ? getAffineConstantExpr(0, context) : extent - 1;
      } else if (atom.getKind() == AffineExprKind::Mod) {
        AffineExpr divisor = cast<AffineBinaryOpExpr>(atom).getRHS();
        // A remainder is also at most what it is taken of.
        end = atLow ? getAffineConstantExpr(0, context) : divisor - 1;
      } else if (atom.getKind() == AffineExprKind::FloorDiv) {
        auto division = cast<AffineBinaryOpExpr>(atom);
        if (isNonNegative(division.getLHS())) {
          if (atLow) {
            end = getAffineConstantExpr(0, context);
          } else if (!monomial.empty()) {
            // x floordiv c <= max(x) floordiv c
            AffineExpr most;
            AffineExpr upper = getAffineConstantExpr(0, context);
            bool known = true;
            for (auto &[inner, c] : expand(division.getLHS())) {
              AffineExpr term = getAffineConstantExpr(c, context);
              for (AffineExpr part : inner) {
                auto dim = dyn_cast<AffineDimExpr>(part);
                if (isa<AffineSymbolExpr>(part))
                  term = term * part;
                else if (dim && dim.getPosition() < extents.size() && extents[dim.getPosition()])
                  term = c > 0 ? term * (extents[dim.getPosition()] - 1) : getAffineConstantExpr(0, context);
                else
                  known = false;
              }
              upper = upper + term;
            }
            if (known)
              most = ir::simplifyExtent(upper.floorDiv(division.getRHS()));
            end = most;
          }
        }
      }
      if (!end)
        return false;
      low = low * end;
    }
    for (auto &[m, c] : expand(low))
      addTerm(bound, m, c);
  }
  AffineExpr lower = ir::simplifyExtent(build(bound, context));
  return ir::getValueRange(lower, symbols).first >= 0;
}

AffineExpr IndexRanges::simplifyDivision(AffineExpr lhs, AffineExpr divisorExpr, bool remainder) const {
  MLIRContext *context = lhs.getContext();
  auto keep = [&](AffineExpr x) { return remainder ? x % divisorExpr : x.floorDiv(divisorExpr); };
  std::optional<Divisor> divisor = asDivisor(divisorExpr);
  if (!divisor)
    return keep(lhs);
  if (divisor->coefficient == 1 && divisor->symbols.empty())
    return remainder ? getAffineConstantExpr(0, context) : lhs;
  Sum quotient, rest;
  for (auto &[monomial, coefficient] : expand(lhs)) {
    if (auto divided = divide(monomial, coefficient, *divisor))
      addTerm(quotient, divided->first, divided->second);
    else if (monomial.empty() && divisor->symbols.empty()) {
      // A constant: its multiple of the divisor goes out.
      int64_t q = llvm::divideFloorSigned(coefficient, divisor->coefficient);
      if (q != 0)
        addTerm(quotient, {}, q);
      addTerm(rest, {}, coefficient - q * divisor->coefficient);
      if (auto it = rest.find({}); it != rest.end() && it->second == 0)
        rest.erase(it);
    } else {
      addTerm(rest, monomial, coefficient);
    }
  }
  AffineExpr restExpr = build(rest, context), quotientExpr = build(quotient, context);
  if (isWithin(restExpr, divisorExpr))
    return remainder ? restExpr : quotientExpr;
  // (x floordiv a) floordiv b = x floordiv (a * b)
  auto inner = dyn_cast<AffineBinaryOpExpr>(restExpr);
  if (!remainder && inner && inner.getKind() == AffineExprKind::FloorDiv && asDivisor(inner.getRHS())) {
    AffineExpr product = build(expand(inner.getRHS() * divisorExpr), context);
    return quotientExpr + simplifyDivision(inner.getLHS(), product, false);
  }
  // (x mod (a * b)) mod a = x mod a, and (x mod (a * b)) floordiv a = (x floordiv a) mod b
  if (inner && inner.getKind() == AffineExprKind::Mod) {
    if (std::optional<Divisor> outer = asDivisor(inner.getRHS())) {
      if (auto ratio = divide(outer->symbols, outer->coefficient, *divisor)) {
        if (remainder)
          return simplifyDivision(inner.getLHS(), divisorExpr, true);
        AffineExpr b = build(ratio->first, ratio->second, context);
        return quotientExpr + simplifyDivision(simplifyDivision(inner.getLHS(), divisorExpr, false), b, true);
      }
    }
  }
  // A factor common to all of the rest and the divisor: (a * x) floordiv (a * b) = x floordiv b, (a * x) mod (a * b) =
  // a * (x mod b).
  int64_t common = divisor->coefficient;
  for (auto &[monomial, coefficient] : rest)
    common = std::gcd(common, coefficient);
  if (common > 1) {
    Sum reduced;
    for (auto &[monomial, coefficient] : rest)
      reduced[monomial] = coefficient / common;
    AffineExpr smaller = build(divisor->symbols, divisor->coefficient / common, context);
    AffineExpr result = simplifyDivision(build(reduced, context), smaller, remainder);
    return remainder ? result * common : quotientExpr + result;
  }
  return remainder ? keep(restExpr) : quotientExpr + keep(restExpr);
}

AffineExpr IndexRanges::simplify(AffineExpr expr) const {
  MLIRContext *context = expr.getContext();
  // Bottom up: operands of divisions first.
  std::function<AffineExpr(AffineExpr)> visit = [&](AffineExpr e) -> AffineExpr {
    if (auto dim = dyn_cast<AffineDimExpr>(e)) {
      bool single = dim.getPosition() < extents.size() && extents[dim.getPosition()] &&
                    ir::getConstant(extents[dim.getPosition()]) == 1;
      return single ? getAffineConstantExpr(0, context) : e;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary)
      return e;
    AffineExpr lhs = visit(binary.getLHS()), rhs = visit(binary.getRHS());
    Sum sum;
    switch (e.getKind()) {
    case AffineExprKind::FloorDiv:
      return simplifyDivision(lhs, rhs, false);
    case AffineExprKind::Mod:
      return simplifyDivision(lhs, rhs, true);
    case AffineExprKind::CeilDiv:
      return simplifyDivision(lhs + rhs - 1, rhs, false);
    case AffineExprKind::Add:
      sum = expand(lhs + rhs);
      recombine(sum);
      return build(sum, context);
    default:
      return build(expand(lhs * rhs), context);
    }
  };
  AffineExpr result = visit(expr);
  // Recombination may uncover more.
  for (int i = 0; i < 3; ++i) {
    AffineExpr next = visit(result);
    if (next == result)
      break;
    result = next;
  }
  return result;
}

std::optional<IntegerSet> IndexRanges::simplify(IntegerSet set) const {
  llvm::SmallVector<AffineExpr> constraints;
  llvm::SmallVector<bool> equalities;
  for (auto [constraint, equality] : llvm::zip_equal(set.getConstraints(), set.getEqFlags())) {
    AffineExpr expr = simplify(constraint);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (equality ? constant.getValue() != 0 : constant.getValue() < 0)
        return std::nullopt;
      continue;
    }
    if (!equality && isNonNegative(expr))
      continue;
    if (!equality && isNonNegative(-expr - 1))
      return std::nullopt;
    bool known = false;
    for (auto [other, otherEquality] : llvm::zip_equal(constraints, equalities))
      known = known || (other == expr && otherEquality == equality);
    if (known)
      continue;
    constraints.push_back(expr);
    equalities.push_back(equality);
  }
  if (constraints.empty()) {
    constraints.push_back(getAffineConstantExpr(0, set.getContext()));
    equalities.push_back(true);
  }
  return IntegerSet::get(set.getNumDims(), set.getNumSymbols(), constraints, equalities);
}

} // namespace tcc::codegen
