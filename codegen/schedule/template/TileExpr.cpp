//===- TileExpr.cpp -------------------------------------------------------===//
#include "codegen/schedule/template/TileExpr.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

// coefficient * product of factors, none of which is a sum, a product or a constant.
struct Term {
  int64_t coefficient = 1;
  SmallVector<AffineExpr> factors;
};
using Terms = SmallVector<Term>;

bool byAddress(AffineExpr x, AffineExpr y) { return x.getAsOpaquePointer() < y.getAsOpaquePointer(); }

Terms multiply(const Terms &x, const Terms &y) {
  Terms product;
  for (const Term &a : x)
    for (const Term &b : y) {
      Term term{a.coefficient * b.coefficient, a.factors};
      term.factors.append(b.factors);
      llvm::sort(term.factors, byAddress);
      product.push_back(std::move(term));
    }
  return product;
}

void combine(Terms &terms) {
  Terms kept;
  for (Term &term : terms) {
    auto same = llvm::find_if(kept, [&](const Term &other) { return other.factors == term.factors; });
    if (same != kept.end())
      same->coefficient += term.coefficient;
    else
      kept.push_back(std::move(term));
  }
  llvm::erase_if(kept, [](const Term &term) { return term.coefficient == 0; });
  terms = std::move(kept);
}

Terms flatten(AffineExpr expr);

// One step of the rule (x floordiv c) * c * k + (x mod c) * k -> x * k.
bool joinDivMod(Terms &terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t f = 0; f < terms[i].factors.size(); ++f) {
      auto mod = dyn_cast<AffineBinaryOpExpr>(terms[i].factors[f]);
      if (!mod || mod.getKind() != AffineExprKind::Mod)
        continue;
      Term rest = terms[i];
      rest.factors.erase(rest.factors.begin() + f);
      AffineExpr quotient = mod.getLHS().floorDiv(mod.getRHS());
      Terms wanted = multiply(multiply({rest}, flatten(quotient)), flatten(mod.getRHS()));
      if (wanted.size() != 1)
        continue;
      for (size_t j = 0; j < terms.size(); ++j) {
        if (j == i || terms[j].factors != wanted[0].factors || terms[j].coefficient != wanted[0].coefficient)
          continue;
        Terms joined = multiply({rest}, flatten(mod.getLHS()));
        terms.erase(terms.begin() + std::max(i, j));
        terms.erase(terms.begin() + std::min(i, j));
        terms.append(joined);
        combine(terms);
        return true;
      }
    }
  }
  return false;
}

Terms flatten(AffineExpr expr) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant: {
    int64_t value = cast<AffineConstantExpr>(expr).getValue();
    return value == 0 ? Terms() : Terms{Term{value, {}}};
  }
  case AffineExprKind::Add: {
    auto sum = cast<AffineBinaryOpExpr>(expr);
    Terms terms = flatten(sum.getLHS());
    terms.append(flatten(sum.getRHS()));
    combine(terms);
    return terms;
  }
  case AffineExprKind::Mul: {
    auto product = cast<AffineBinaryOpExpr>(expr);
    Terms terms = multiply(flatten(product.getLHS()), flatten(product.getRHS()));
    combine(terms);
    return terms;
  }
  default:
    return {Term{1, {expr}}};
  }
}

AffineExpr build(ArrayRef<Term> terms, MLIRContext *context) {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const Term &term : terms) {
    AffineExpr product;
    for (AffineExpr factor : term.factors)
      product = product ? product * factor : factor;
    sum = sum + (product ? product * term.coefficient : getAffineConstantExpr(term.coefficient, context));
  }
  return sum;
}

std::optional<int64_t> constant(AffineExpr expr) {
  if (auto known = dyn_cast<AffineConstantExpr>(expr))
    return known.getValue();
  return std::nullopt;
}

} // namespace

AffineExpr simplify(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  MLIRContext *context = expr.getContext();
  AffineExpr lhs = simplify(binary.getLHS()), rhs = simplify(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv: {
    // Terms that the divisor divides come out: (c * x + y) floordiv c -> x + y floordiv c.
    if (auto divisor = constant(rhs); divisor && *divisor > 0) {
      Terms out, in;
      for (Term &term : flatten(lhs))
        if (term.coefficient % *divisor == 0 && !term.factors.empty()) {
          term.coefficient /= *divisor;
          out.push_back(term);
        } else {
          in.push_back(term);
        }
      if (!out.empty())
        return build(out, context) + build(in, context).floorDiv(rhs);
    }
    return lhs.floorDiv(rhs);
  }
  case AffineExprKind::CeilDiv:
    return lhs.ceilDiv(rhs);
  case AffineExprKind::Mod: {
    if (auto divisor = constant(rhs); divisor && *divisor > 0) {
      Terms in;
      for (Term &term : flatten(lhs))
        if (term.coefficient % *divisor != 0)
          in.push_back(term);
      return build(in, context) % rhs;
    }
    return lhs % rhs;
  }
  default:
    break;
  }
  Terms terms = flatten(expr.getKind() == AffineExprKind::Add ? lhs + rhs : lhs * rhs);
  while (joinDivMod(terms))
    ;
  return build(terms, context);
}

AffineExpr rowMajorOffset(ArrayRef<AffineExpr> coordinate, ArrayRef<AffineExpr> extents, MLIRContext *context) {
  AffineExpr offset = getAffineConstantExpr(0, context);
  for (auto [position, extent] : llvm::zip_equal(coordinate, extents))
    offset = offset * extent + position;
  return simplify(offset);
}

Exprs delinearize(AffineExpr offset, ArrayRef<AffineExpr> extents) {
  Exprs coordinate(extents.size());
  AffineExpr rest = offset;
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (axis == 0) {
      coordinate[axis] = rest;
      break;
    }
    if (constant(extents[axis]) == 1) {
      coordinate[axis] = getAffineConstantExpr(0, offset.getContext());
      continue;
    }
    coordinate[axis] = rest % extents[axis];
    rest = rest.floorDiv(extents[axis]);
  }
  return coordinate;
}

AffineExpr substitute(AffineExpr expr, ArrayRef<AffineExpr> dims) { return expr.replaceDims(dims); }

std::optional<int64_t> laneStride(AffineExpr expr, unsigned dim, int64_t lanes) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  if (isa<AffineDimExpr>(expr))
    return 1;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = laneStride(binary.getLHS(), dim, lanes), right = laneStride(binary.getRHS(), dim, lanes);
  if (!left || !right)
    return std::nullopt;
  auto divisor = constant(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    if (*left == 0 && *right == 0)
      return 0;
    if (*right == 0 && divisor)
      return *left * *divisor;
    return std::nullopt;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod: {
    if (*right != 0)
      return std::nullopt;
    bool mod = expr.getKind() == AffineExprKind::Mod;
    if (*left == 0)
      return 0;
    if (!divisor || *divisor <= 0 || *left < 0)
      return std::nullopt;
    // The vector starts at a multiple of `granule`, and stays inside the period when it spans no more than that.
    AffineExpr start = binary.getLHS().replace(getAffineDimExpr(dim, expr.getContext()),
                                               getAffineDimExpr(dim, expr.getContext()) * lanes);
    int64_t granule = std::gcd(start.getLargestKnownDivisor(), *divisor);
    if (*left * (lanes - 1) >= granule)
      return std::nullopt;
    return mod ? *left : 0;
  }
  default:
    return std::nullopt;
  }
}

std::optional<AffineExpr> dimStride(AffineExpr expr, unsigned dim, unsigned numDims) {
  if (!expr.isFunctionOfDim(dim))
    return getAffineConstantExpr(0, expr.getContext());
  AffineExpr d = getAffineDimExpr(dim, expr.getContext());
  AffineExpr difference = simplify(expr.replace(d, d + 1) - expr);
  for (unsigned i = 0; i < numDims; ++i)
    if (difference.isFunctionOfDim(i))
      return std::nullopt;
  return difference;
}

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId:
    return dims[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId:
    return symbols[cast<AffineSymbolExpr>(expr).getPosition()];
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t x = evaluate(binary.getLHS(), dims, symbols), y = evaluate(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return x + y;
  case AffineExprKind::Mul:
    return x * y;
  case AffineExprKind::FloorDiv:
    return y > 0 ? llvm::divideFloorSigned(x, y) : 0;
  case AffineExprKind::CeilDiv:
    return y > 0 ? llvm::divideCeilSigned(x, y) : 0;
  case AffineExprKind::Mod:
    return y > 0 ? llvm::mod(x, y) : 0;
  default:
    llvm_unreachable("every kind of affine expression is handled");
  }
}

namespace {

// One digit of the mixed-radix number that a coordinate of the space is: dimension `dim` of the nest times `weight`.
struct Digit {
  unsigned dim;
  AffineExpr weight;
};

// The digits of a result that is a linear combination of dimensions.
std::optional<SmallVector<Digit>> digitsOf(AffineExpr result) {
  SmallVector<Digit> digits;
  for (const Term &term : flatten(simplify(result))) {
    std::optional<unsigned> dim;
    AffineExpr weight = getAffineConstantExpr(term.coefficient, result.getContext());
    for (AffineExpr factor : term.factors) {
      if (auto d = dyn_cast<AffineDimExpr>(factor)) {
        if (dim)
          return std::nullopt;
        dim = d.getPosition();
      } else if (isa<AffineSymbolExpr>(factor)) {
        weight = weight * factor;
      } else {
        return std::nullopt;
      }
    }
    if (!dim)
      return std::nullopt;
    digits.push_back({*dim, weight});
  }
  return digits;
}

// (d floordiv c) mod e, with either part missing: the dimension and c.
std::optional<Digit> sliceOf(AffineExpr result) {
  AffineExpr inner = result, weight = getAffineConstantExpr(1, result.getContext());
  if (inner.getKind() == AffineExprKind::Mod)
    inner = cast<AffineBinaryOpExpr>(inner).getLHS();
  if (inner.getKind() == AffineExprKind::FloorDiv) {
    weight = cast<AffineBinaryOpExpr>(inner).getRHS();
    inner = cast<AffineBinaryOpExpr>(inner).getLHS();
  }
  if (auto d = dyn_cast<AffineDimExpr>(inner))
    return Digit{d.getPosition(), weight};
  return std::nullopt;
}

unsigned numSymbols(ArrayRef<AffineExpr> exprs) {
  unsigned count = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return count;
}

// Whether the inverse holds at random points, with random small values for the symbols.
bool checkInverse(AffineMap map, ArrayRef<AffineExpr> inverse, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  Exprs all(inverse);
  all.append(from.begin(), from.end());
  all.append(to.begin(), to.end());
  all.append(map.getResults().begin(), map.getResults().end());
  unsigned count = numSymbols(all);
  std::mt19937 random(1);
  for (int trial = 0; trial < 40; ++trial) {
    SmallVector<int64_t> symbols, point, nest;
    for (unsigned i = 0; i < count; ++i)
      symbols.push_back(2 + random() % 7);
    int64_t sizeFrom = 1, sizeTo = 1;
    for (AffineExpr extent : to) {
      int64_t size = evaluate(extent, {}, symbols);
      if (size <= 0)
        return true; // an empty space
      sizeTo *= size;
      point.push_back(random() % size);
    }
    for (auto [expr, extent] : llvm::zip_equal(inverse, from)) {
      int64_t size = evaluate(extent, {}, symbols);
      sizeFrom *= size;
      nest.push_back(evaluate(expr, point, symbols));
      if (nest.back() < 0 || nest.back() >= size)
        return false;
    }
    if (sizeFrom != sizeTo)
      return false;
    for (auto [expr, position] : llvm::zip_equal(map.getResults(), point))
      if (evaluate(expr, nest, symbols) != position)
        return false;
  }
  return true;
}

} // namespace

std::optional<Exprs> invert(AffineMap map, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  MLIRContext *context = map.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  Exprs inverse(from.size(), zero);
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    if (constant(result) == 0)
      continue;
    AffineExpr t = getAffineDimExpr(i, context);
    if (auto digits = digitsOf(result)) {
      for (const Digit &digit : *digits) {
        // A digit is the leading one when weight times extent is the whole extent.
        AffineExpr value = t.floorDiv(digit.weight);
        if (simplify(digit.weight * from[digit.dim]) != simplify(to[i]))
          value = value % from[digit.dim];
        inverse[digit.dim] = inverse[digit.dim] + value;
      }
    } else if (auto slice = sliceOf(result)) {
      inverse[slice->dim] = inverse[slice->dim] + t * slice->weight;
    } else {
      return std::nullopt;
    }
  }
  for (AffineExpr &expr : inverse)
    expr = simplify(expr);
  if (!checkInverse(map, inverse, from, to))
    return std::nullopt;
  return inverse;
}

} // namespace tcc::codegen::gemm
