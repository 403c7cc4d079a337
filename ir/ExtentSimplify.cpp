//===- ExtentSimplify.cpp - the canonical form of extents ------------------===//
//
// An expression is expanded into a polynomial: a sum of monomials, each an integer times a product of atoms. Atoms are
// symbols, and quotients and remainders that do not simplify. The polynomial, written out in a fixed order, is the
// canonical form: two expressions that are equal as polynomials become the same mlir::AffineExpr. MLIR's own
// simplification does not know that s0 * s1 is s1 * s0, or that (s0 * s1 * 64) floordiv (s0 * 16) is s1 * 4.
//
// Divisors count as positive, which extents that something is divided by are.
//
//===----------------------------------------------------------------------===//
#include <map>
#include <numeric>
#include <optional>

#include "ir/Extents.h"
#include "llvm/Support/MathExtras.h"

namespace tcc::ir {

using mlir::AffineExpr;
using mlir::AffineExprKind;

namespace {

/// A total order by structure, so that it is the same in every run (addresses are not).
int compare(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  auto by = [](auto l, auto r) { return l < r ? -1 : l > r ? 1 : 0; };
  // Symbols and dimensions before what contains them.
  auto rank = [](AffineExpr e) {
    switch (e.getKind()) {
    case AffineExprKind::DimId:
      return 0;
    case AffineExprKind::SymbolId:
      return 1;
    case AffineExprKind::Constant:
      return 2;
    default:
      return 3 + static_cast<int>(e.getKind());
    }
  };
  if (int order = by(rank(a), rank(b)))
    return order;
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(a))
    return by(symbol.getPosition(), llvm::cast<mlir::AffineSymbolExpr>(b).getPosition());
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(a))
    return by(dim.getPosition(), llvm::cast<mlir::AffineDimExpr>(b).getPosition());
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(a))
    return by(constant.getValue(), llvm::cast<mlir::AffineConstantExpr>(b).getValue());
  auto l = llvm::cast<mlir::AffineBinaryOpExpr>(a), r = llvm::cast<mlir::AffineBinaryOpExpr>(b);
  if (int order = compare(l.getLHS(), r.getLHS()))
    return order;
  return compare(l.getRHS(), r.getRHS());
}

using Atoms = llvm::SmallVector<AffineExpr, 4>; // sorted

struct AtomsLess {
  bool operator()(const Atoms &a, const Atoms &b) const {
    // Longer products first, the constant last: s0 * s1 + s0 + 1.
    if (a.size() != b.size())
      return a.size() > b.size();
    for (auto [l, r] : llvm::zip(a, b))
      if (int order = compare(l, r))
        return order < 0;
    return false;
  }
};

/// Coefficient of each product of atoms; never 0. Arithmetic that overflows or grows out of bounds gives nothing.
class Polynomial {
public:
  std::map<Atoms, int64_t, AtomsLess> terms;

  static Polynomial of(int64_t constant) {
    Polynomial p;
    if (constant != 0)
      p.terms[{}] = constant;
    return p;
  }
  static Polynomial of(AffineExpr atom) {
    Polynomial p;
    p.terms[{atom}] = 1;
    return p;
  }

  std::optional<int64_t> constant() const {
    if (terms.empty())
      return 0;
    if (terms.size() == 1 && terms.begin()->first.empty())
      return terms.begin()->second;
    return std::nullopt;
  }
  int64_t constantTerm() const {
    auto it = terms.find({});
    return it == terms.end() ? 0 : it->second;
  }

  bool add(const Atoms &atoms, int64_t coefficient) {
    int64_t &sum = terms[atoms];
    if (llvm::AddOverflow(sum, coefficient, sum))
      return false;
    if (sum == 0)
      terms.erase(atoms);
    return true;
  }
  bool add(const Polynomial &other) {
    return llvm::all_of(other.terms, [&](const auto &term) { return add(term.first, term.second); });
  }
  static std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
    constexpr size_t kMaxTerms = 64;
    if (a.terms.size() * b.terms.size() > kMaxTerms)
      return std::nullopt;
    Polynomial result;
    for (const auto &[l, lc] : a.terms)
      for (const auto &[r, rc] : b.terms) {
        Atoms atoms(l);
        llvm::append_range(atoms, r);
        llvm::sort(atoms, [](AffineExpr x, AffineExpr y) { return compare(x, y) < 0; });
        int64_t coefficient;
        if (llvm::MulOverflow(lc, rc, coefficient) || !result.add(atoms, coefficient))
          return std::nullopt;
      }
    return result;
  }

  AffineExpr toExpr(mlir::MLIRContext *context) const {
    AffineExpr sum = mlir::getAffineConstantExpr(0, context);
    for (const auto &[atoms, coefficient] : terms) {
      if (atoms.empty()) {
        sum = sum + coefficient;
        continue;
      }
      AffineExpr term = atoms.front();
      for (AffineExpr atom : llvm::drop_begin(atoms))
        term = term * atom;
      sum = sum + term * coefficient;
    }
    return sum;
  }
};

/// The product `atoms` without those of `divisor`, or nothing where that does not divide it.
std::optional<Atoms> divideAtoms(const Atoms &atoms, const Atoms &divisor) {
  Atoms rest(atoms);
  for (AffineExpr atom : divisor) {
    auto *it = llvm::find(rest, atom);
    if (it == rest.end())
      return std::nullopt;
    rest.erase(it);
  }
  return rest;
}

class Expander {
public:
  explicit Expander(mlir::MLIRContext *context) : context(context) {}

  std::optional<Polynomial> expand(AffineExpr expr) {
    if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
      return Polynomial::of(constant.getValue());
    auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
    if (!binary)
      return Polynomial::of(expr);
    std::optional<Polynomial> l = expand(binary.getLHS()), r = expand(binary.getRHS());
    if (!l || !r)
      return std::nullopt;
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return l->add(*r) ? l : std::nullopt;
    case AffineExprKind::Mul:
      return Polynomial::product(*l, *r);
    case AffineExprKind::FloorDiv:
      return floorDiv(*std::move(l), *r);
    case AffineExprKind::CeilDiv:
      // ceil(a / b) = floor((a + b - 1) / b) for b > 0.
      if (auto divisor = r->constant(); divisor && *divisor <= 0)
        return opaque(expr.getKind(), *l, *r);
      return l->add(*r) && l->add({}, -1) ? floorDiv(*std::move(l), *r) : std::nullopt;
    case AffineExprKind::Mod:
      return mod(*std::move(l), *r);
    default:
      return std::nullopt;
    }
  }

private:
  std::optional<Polynomial> opaque(AffineExprKind kind, const Polynomial &l, const Polynomial &r) {
    // The constructor may simplify it into something that is no atom.
    AffineExpr atom = mlir::getAffineBinaryOpExpr(kind, l.toExpr(context), r.toExpr(context));
    if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(atom))
      return Polynomial::of(constant.getValue());
    if (atom.getKind() == AffineExprKind::Add || atom.getKind() == AffineExprKind::Mul)
      return expand(atom);
    return Polynomial::of(atom);
  }

  /// Takes out of `dividend` the terms that the divisor (one monomial) divides: what they contribute to the quotient.
  Polynomial takeMultiples(Polynomial &dividend, const Atoms &atoms, int64_t coefficient) {
    Polynomial quotient;
    for (auto it = dividend.terms.begin(); it != dividend.terms.end();) {
      std::optional<Atoms> rest = divideAtoms(it->first, atoms);
      int64_t whole = 0;
      if (rest && it->first.empty())
        whole = llvm::divideFloorSigned(it->second, coefficient); // what stays is in [0, coefficient)
      else if (rest && (atoms.empty() || it->second % coefficient == 0))
        whole = it->second / coefficient; // (5 * s0) floordiv 4 = s0 + s0 floordiv 4
      if (whole == 0) {
        ++it;
        continue;
      }
      quotient.add(*rest, whole);
      it->second -= whole * coefficient;
      it = it->second == 0 ? dividend.terms.erase(it) : std::next(it);
    }
    return quotient;
  }

  std::optional<Polynomial> floorDiv(Polynomial dividend, Polynomial divisor) {
    if (divisor.terms.size() != 1 || divisor.terms.begin()->second <= 0) {
      if (!divisor.terms.empty() && dividend.terms == divisor.terms)
        return Polynomial::of(1);
      return opaque(AffineExprKind::FloorDiv, dividend, divisor);
    }
    auto [atoms, coefficient] = *divisor.terms.begin();
    Polynomial quotient = takeMultiples(dividend, atoms, coefficient);
    if (dividend.terms.empty())
      return quotient;
    if (atoms.empty()) {
      if (dividend.constant()) // in [0, coefficient)
        return quotient;
      // Common factors: (2 * s0 + 1) floordiv 4 = s0 floordiv 2.
      int64_t common = coefficient;
      for (const auto &[product, factor] : dividend.terms)
        if (!product.empty())
          common = std::gcd(common, factor);
      if (common > 1) {
        Polynomial reduced;
        for (const auto &[product, factor] : dividend.terms)
          if (int64_t whole = llvm::divideFloorSigned(factor, common))
            reduced.add(product, whole);
        std::optional<Polynomial> rest = floorDiv(std::move(reduced), Polynomial::of(coefficient / common));
        return rest && quotient.add(*rest) ? std::optional(quotient) : std::nullopt;
      }
      // (x floordiv a + c) floordiv b = (x + c * a) floordiv (a * b).
      if (std::optional<Polynomial> merged = mergeQuotients(dividend, coefficient))
        return quotient.add(*merged) ? std::optional(quotient) : std::nullopt;
    }
    std::optional<Polynomial> rest = opaque(AffineExprKind::FloorDiv, dividend, divisor);
    return rest && quotient.add(*rest) ? std::optional(quotient) : std::nullopt;
  }

  std::optional<Polynomial> mergeQuotients(const Polynomial &dividend, int64_t divisor) {
    std::optional<mlir::AffineBinaryOpExpr> inner;
    for (const auto &[product, factor] : dividend.terms) {
      if (product.empty())
        continue;
      if (inner || product.size() != 1 || factor != 1 || product.front().getKind() != AffineExprKind::FloorDiv)
        return std::nullopt;
      inner = llvm::cast<mlir::AffineBinaryOpExpr>(product.front());
    }
    if (!inner)
      return std::nullopt;
    std::optional<int64_t> innerDivisor = getConstant(inner->getRHS());
    int64_t shift, total;
    if (!innerDivisor || *innerDivisor <= 0 || llvm::MulOverflow(dividend.constantTerm(), *innerDivisor, shift) ||
        llvm::MulOverflow(divisor, *innerDivisor, total))
      return std::nullopt;
    std::optional<Polynomial> sum = expand(inner->getLHS());
    if (!sum || !sum->add({}, shift))
      return std::nullopt;
    return floorDiv(*std::move(sum), Polynomial::of(total));
  }

  std::optional<Polynomial> mod(Polynomial dividend, const Polynomial &divisor) {
    if (divisor.terms.size() == 1 && divisor.terms.begin()->second > 0) {
      auto [atoms, coefficient] = *divisor.terms.begin();
      takeMultiples(dividend, atoms, coefficient);
      if (dividend.terms.empty() || (atoms.empty() && dividend.constant()))
        return dividend;
    } else if (!divisor.terms.empty() && dividend.terms == divisor.terms) {
      return Polynomial();
    }
    return opaque(AffineExprKind::Mod, dividend, divisor);
  }

  mlir::MLIRContext *context;
};

} // namespace

AffineExpr simplifyExtent(AffineExpr expr) {
  if (!llvm::isa<mlir::AffineBinaryOpExpr>(expr))
    return expr;
  std::optional<Polynomial> polynomial = Expander(expr.getContext()).expand(expr);
  return polynomial ? polynomial->toExpr(expr.getContext()) : expr;
}

} // namespace tcc::ir
