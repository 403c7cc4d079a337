//===- IndexExpr.cpp - arithmetic on index expressions --------------------===//
#include "codegen/schedule/IndexExpr.h"

#include <optional>

#include "ir/Dialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

constexpr int64_t kUnbounded = INT64_MAX;

AffineBinaryOpExpr compound(AffineExpr atom, AffineExprKind kind) {
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(atom);
  return binary && binary.getKind() == kind ? binary : AffineBinaryOpExpr(nullptr);
}

std::optional<int64_t> constantOf(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

} // namespace

IndexSimplifier::IndexSimplifier(MLIRContext *context, llvm::ArrayRef<AffineExpr> extents, ArrayAttr symbols)
    : context(context), extents(extents), symbols(symbols) {}

void IndexSimplifier::sortAtoms(llvm::SmallVectorImpl<AffineExpr> &atoms) {
  auto key = [&](AffineExpr atom) -> std::pair<int, unsigned> {
    if (auto dim = llvm::dyn_cast<AffineDimExpr>(atom))
      return {0, dim.getPosition()};
    if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(atom))
      return {1, symbol.getPosition()};
    return {2, order.try_emplace(atom, order.size()).first->second};
  };
  llvm::sort(atoms, [&](AffineExpr a, AffineExpr b) { return key(a) < key(b); });
}

void IndexSimplifier::addTerm(Poly &poly, Term term) {
  if (term.factor == 0)
    return;
  for (auto it = poly.begin(); it != poly.end(); ++it) {
    if (it->atoms != term.atoms)
      continue;
    it->factor += term.factor;
    if (it->factor == 0)
      poly.erase(it);
    return;
  }
  poly.push_back(std::move(term));
}

IndexSimplifier::Poly IndexSimplifier::add(Poly a, const Poly &b, int64_t factor) {
  for (Term term : b) {
    term.factor *= factor;
    addTerm(a, std::move(term));
  }
  return a;
}

IndexSimplifier::Poly IndexSimplifier::multiply(const Poly &a, const Poly &b) {
  Poly result;
  for (const Term &x : a)
    for (const Term &y : b) {
      Term term{x.atoms, x.factor * y.factor};
      term.atoms.append(y.atoms.begin(), y.atoms.end());
      sortAtoms(term.atoms);
      addTerm(result, std::move(term));
    }
  return result;
}

IndexSimplifier::Poly IndexSimplifier::parse(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() ? Poly{Term{{}, constant.getValue()}} : Poly{};
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    // A dimension of extent one is zero.
    if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
      if (dim.getPosition() < extents.size() && extents[dim.getPosition()] &&
          constantOf(extents[dim.getPosition()]) == 1)
        return {};
    return {Term{{expr}, 1}};
  }
  Poly lhs = parse(binary.getLHS()), rhs = parse(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return combine(add(std::move(lhs), rhs));
  case AffineExprKind::Mul:
    return combine(multiply(lhs, rhs));
  case AffineExprKind::FloorDiv:
    return divide(lhs, rhs).first;
  case AffineExprKind::Mod:
    return divide(lhs, rhs).second;
  default: // CeilDiv
    return divide(add(add(std::move(lhs), rhs), Poly{Term{{}, 1}}, -1), rhs).first;
  }
}

// What a single term divides without remainder, and the rest.
std::pair<IndexSimplifier::Poly, IndexSimplifier::Poly> IndexSimplifier::split(const Poly &a, const Term &b) {
  Poly quotient, rest;
  for (const Term &term : a) {
    Term divided{{}, term.factor};
    llvm::SmallVector<AffineExpr, 3> needed = b.atoms;
    for (AffineExpr atom : term.atoms)
      if (auto it = llvm::find(needed, atom); it != needed.end())
        needed.erase(it);
      else
        divided.atoms.push_back(atom);
    if (!needed.empty()) {
      rest.push_back(term);
      continue;
    }
    // Constants are split as well: 130 floordiv 64 is 2, with 2 left over.
    int64_t whole = llvm::divideFloorSigned(term.factor, b.factor);
    int64_t left = term.factor - whole * b.factor;
    if (term.atoms.empty() || left == 0) {
      divided.factor = whole;
      addTerm(quotient, divided);
      addTerm(rest, Term{term.atoms, left});
    } else {
      rest.push_back(term);
    }
  }
  return {quotient, rest};
}

std::pair<IndexSimplifier::Poly, IndexSimplifier::Poly> IndexSimplifier::divide(const Poly &a, const Poly &b) {
  if (b.size() == 1 && b[0].atoms.empty() && b[0].factor == 1)
    return {a, {}};
  Poly quotient, rest = a;
  if (b.size() == 1 && b[0].factor > 0)
    std::tie(quotient, rest) = split(a, b[0]);
  if (rest.empty() || (nonNegative(rest) && nonNegative(add(add(b, rest, -1), Poly{Term{{}, 1}}, -1))))
    return {quotient, rest};

  AffineExpr divisor = print(b), dividend = print(rest);
  AffineExpr floor, mod;
  std::optional<int64_t> constant = constantOf(divisor);
  if (constant && *constant > 0 && rest.size() == 1 && rest[0].factor == 1 && rest[0].atoms.size() == 1) {
    // (e floordiv p) floordiv q = e floordiv (p q); (e mod (p q)) mod q = e mod q
    if (auto inner = compound(rest[0].atoms[0], AffineExprKind::FloorDiv))
      if (auto p = constantOf(inner.getRHS()); p && *p > 0)
        floor = getAffineBinaryOpExpr(AffineExprKind::FloorDiv, inner.getLHS(),
                                      getAffineConstantExpr(*p * *constant, context));
    if (auto inner = compound(rest[0].atoms[0], AffineExprKind::Mod))
      if (auto p = constantOf(inner.getRHS()); p && *p > 0 && *p % *constant == 0)
        mod = getAffineBinaryOpExpr(AffineExprKind::Mod, inner.getLHS(), divisor);
  }
  if (!floor)
    floor = getAffineBinaryOpExpr(AffineExprKind::FloorDiv, dividend, divisor);
  if (!mod)
    mod = getAffineBinaryOpExpr(AffineExprKind::Mod, dividend, divisor);
  auto atom = [&](AffineExpr expr) {
    if (auto value = constantOf(expr))
      return *value ? Poly{Term{{}, *value}} : Poly{};
    return Poly{Term{{expr}, 1}};
  };
  return {combine(add(quotient, atom(floor))), atom(mod)};
}

// k c r (e floordiv c) + k r (e mod c) = k r e, and k b r ((e floordiv b) mod c) + k r (e mod b) = k r (e mod (b c)).
bool IndexSimplifier::combineOnce(Poly &poly) {
  auto without = [](const Term &term, AffineExpr atom) {
    Term result = term;
    result.atoms.erase(llvm::find(result.atoms, atom));
    return result;
  };
  for (unsigned i = 0; i < poly.size(); ++i)
    for (AffineExpr modAtom : poly[i].atoms) {
      auto mod = compound(modAtom, AffineExprKind::Mod);
      if (!mod)
        continue;
      Poly rest{without(poly[i], modAtom)};
      Poly scaled = multiply(rest, parse(mod.getRHS()));
      if (scaled.size() != 1)
        continue;
      for (unsigned j = 0; j < poly.size(); ++j)
        for (AffineExpr other : poly[j].atoms) {
          if (j == i)
            continue;
          auto floor = compound(other, AffineExprKind::FloorDiv);
          auto outer = compound(other, AffineExprKind::Mod);
          AffineExpr whole;
          if (floor && floor.getLHS() == mod.getLHS() && floor.getRHS() == mod.getRHS())
            whole = mod.getLHS();
          else if (auto inner =
                       outer ? compound(outer.getLHS(), AffineExprKind::FloorDiv) : AffineBinaryOpExpr(nullptr);
                   inner && inner.getLHS() == mod.getLHS() && inner.getRHS() == mod.getRHS())
            whole = mod.getLHS() % (mod.getRHS() * outer.getRHS());
          if (!whole)
            continue;
          Term scale = without(poly[j], other);
          if (scale.factor != scaled[0].factor || scale.atoms != scaled[0].atoms)
            continue;
          poly.erase(poly.begin() + std::max(i, j));
          poly.erase(poly.begin() + std::min(i, j));
          poly = add(std::move(poly), multiply(rest, parse(whole)));
          return true;
        }
    }
  return false;
}

IndexSimplifier::Poly IndexSimplifier::combine(Poly poly) {
  while (combineOnce(poly)) {
  }
  return poly;
}

AffineExpr IndexSimplifier::print(const Poly &poly) {
  AffineExpr result;
  AffineExpr constant = getAffineConstantExpr(0, context);
  for (const Term &term : poly) {
    if (term.atoms.empty()) {
      constant = getAffineConstantExpr(term.factor, context);
      continue;
    }
    AffineExpr product = term.atoms[0];
    for (AffineExpr atom : llvm::drop_begin(term.atoms))
      product = product * atom;
    product = product * term.factor;
    result = result ? result + product : product;
  }
  return result ? result + constant : constant;
}

AffineExpr IndexSimplifier::simplify(AffineExpr expr) { return print(combine(parse(expr))); }

AffineExpr IndexSimplifier::stride(AffineExpr expr, unsigned dim) {
  AffineExpr wanted = getAffineDimExpr(dim, context);
  Poly result;
  for (const Term &term : parse(expr)) {
    Term factor{{}, term.factor};
    unsigned power = 0;
    for (AffineExpr atom : term.atoms) {
      if (atom == wanted)
        ++power;
      else if (atom.isFunctionOfDim(dim))
        return {};
      else
        factor.atoms.push_back(atom);
    }
    if (power > 1)
      return {};
    if (power == 1)
      addTerm(result, std::move(factor));
  }
  return print(result);
}

std::pair<int64_t, int64_t> IndexSimplifier::atomRange(AffineExpr atom) {
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(atom)) {
    if (symbols && symbol.getPosition() < symbols.size())
      if (auto info = llvm::dyn_cast<ir::SymbolAttr>(symbols[symbol.getPosition()]))
        return {info.getMin(), info.getMax()};
    return {0, kUnbounded};
  }
  if (auto mod = compound(atom, AffineExprKind::Mod)) {
    auto divisor = constantOf(mod.getRHS());
    return {0, divisor ? *divisor - 1 : kUnbounded};
  }
  if (auto floor = compound(atom, AffineExprKind::FloorDiv))
    if (auto divisor = constantOf(floor.getRHS()); !divisor || *divisor > 0)
      if (nonNegative(parse(floor.getLHS())))
        return {0, kUnbounded};
  return {-kUnbounded, kUnbounded};
}

// A lower bound over symbols and compound atoms, which all are taken to be independent.
std::optional<int64_t> IndexSimplifier::lowerBound(const Poly &poly) {
  int64_t sum = 0;
  for (const Term &term : poly) {
    int64_t low = 1, high = 1;
    for (AffineExpr atom : term.atoms) {
      auto [min, max] = atomRange(atom);
      if (min < 0)
        return std::nullopt;
      if (llvm::MulOverflow(low, min, low))
        low = kUnbounded;
      if (llvm::MulOverflow(high, max, high))
        high = kUnbounded;
    }
    if (term.factor < 0 && high == kUnbounded)
      return std::nullopt;
    int64_t part;
    if (llvm::MulOverflow(term.factor > 0 ? low : high, term.factor, part) || llvm::AddOverflow(sum, part, sum))
      return std::nullopt;
  }
  return sum;
}

bool IndexSimplifier::nonNegative(const Poly &poly) {
  // Each dimension takes the end of its range that makes the term smallest; what is left depends on symbols only.
  Poly smallest;
  for (const Term &term : poly) {
    Poly value{Term{{}, term.factor}};
    for (AffineExpr atom : term.atoms) {
      Poly factor{Term{{atom}, 1}};
      if (auto dim = llvm::dyn_cast<AffineDimExpr>(atom)) {
        if (dim.getPosition() >= extents.size() || !extents[dim.getPosition()])
          return false;
        if (term.factor > 0)
          factor.clear();
        else
          factor = add(parse(extents[dim.getPosition()]), Poly{Term{{}, 1}}, -1);
      } else if (auto mod = compound(atom, AffineExprKind::Mod); mod && term.factor < 0 && !constantOf(mod.getRHS())) {
        factor = add(parse(mod.getRHS()), Poly{Term{{}, 1}}, -1);
      }
      value = multiply(value, factor);
    }
    smallest = add(std::move(smallest), value);
  }
  std::optional<int64_t> bound = lowerBound(smallest);
  return bound && *bound >= 0;
}

bool IndexSimplifier::isNonNegative(AffineExpr expr) { return nonNegative(parse(expr)); }

} // namespace tcc::codegen
