//===- IndexExpr.h - arithmetic on index expressions --------------*- C++ -*-===//
//
// Index expressions of loops as polynomials over dimensions and symbols, with floordiv and mod as further atoms. Knows
// the ranges of dimensions and symbols, so that what a reshape leaves behind, (x floordiv 64) * 64 + x mod 64, becomes
// x again, also for a symbolic 64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen {

using Exprs = llvm::SmallVector<mlir::AffineExpr>;

class IndexSimplifier {
public:
  /// Dimension i runs from 0 to extents[i] - 1; a null extent means that nothing is known of it. `symbols` is the
  /// function's tcc.symbols.
  IndexSimplifier(mlir::MLIRContext *context, llvm::ArrayRef<mlir::AffineExpr> extents, mlir::ArrayAttr symbols);

  mlir::AffineExpr simplify(mlir::AffineExpr expr);
  /// By how much the expression grows with the dimension, where that does not depend on the dimension; else null.
  mlir::AffineExpr stride(mlir::AffineExpr expr, unsigned dim);
  /// Whether the expression is provably at least zero, for all values of dimensions and symbols.
  bool isNonNegative(mlir::AffineExpr expr);
  /// Whether a >= 0 for all values follows and a < b.
  bool isLess(mlir::AffineExpr a, mlir::AffineExpr b) { return isNonNegative(b - a - 1); }

  mlir::MLIRContext *getContext() const { return context; }

private:
  struct Term {
    llvm::SmallVector<mlir::AffineExpr, 3> atoms; ///< sorted, with repetition
    int64_t factor;
  };
  using Poly = llvm::SmallVector<Term, 4>;

  Poly parse(mlir::AffineExpr expr);
  mlir::AffineExpr print(const Poly &poly);
  void sortAtoms(llvm::SmallVectorImpl<mlir::AffineExpr> &atoms);
  void addTerm(Poly &poly, Term term);
  Poly add(Poly a, const Poly &b, int64_t factor = 1);
  Poly multiply(const Poly &a, const Poly &b);
  /// Quotient and remainder of a floor division.
  std::pair<Poly, Poly> divide(const Poly &a, const Poly &b);
  std::pair<Poly, Poly> split(const Poly &a, const Term &b);
  Poly combine(Poly poly);
  bool combineOnce(Poly &poly);
  bool nonNegative(const Poly &poly);
  std::pair<int64_t, int64_t> atomRange(mlir::AffineExpr atom);
  std::optional<int64_t> lowerBound(const Poly &poly);

  mlir::MLIRContext *context;
  Exprs extents;
  mlir::ArrayAttr symbols;
  llvm::DenseMap<mlir::AffineExpr, unsigned> order; ///< of compound atoms, by first use
};

} // namespace tcc::codegen
