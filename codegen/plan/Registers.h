//===- Registers.h - symbols and expressions in a plan's registers -*- C++ -*-===//
#pragma once

#include <optional>
#include <vector>

#include "ir/Extents.h"
#include "runtime/plan.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::codegen {

/// Holds expressions over symbols in registers, each computed once. Symbol i lives in register i. Expressions over
/// input symbols alone are computed at the start of the plan; others where they are first needed, and are known in that
/// block and the blocks in it.
class Registers {
public:
  Registers(unsigned numSymbols, unsigned numInputSymbols)
      : numInputSymbols(numInputSymbols), next(numSymbols), scopes(1) {}

  void enterBlock() { scopes.emplace_back(); }
  void leaveBlock() { scopes.pop_back(); }

  bool isBound(unsigned symbol) const;
  bool isBound(mlir::AffineExpr expr) const;
  /// True if the expression needs nothing but the input symbols.
  bool isKnownAtStart(mlir::AffineExpr expr) const;
  void bind(unsigned symbol) { scopes.back().bound.push_back(symbol); }

  /// The operand that holds `expr`; appends what computes it to the start of the plan or to `block`. All its symbols
  /// are bound.
  Operand emit(mlir::AffineExpr expr, std::vector<Instruction> &block);
  Operand emitAtStart(mlir::AffineExpr expr) { return emit(expr, start); }

  RegisterId makeRegister() { return next++; }
  RegisterId count() const { return next; }
  std::vector<Instruction> takeStart() { return std::move(start); }

private:
  struct Scope {
    llvm::SmallVector<unsigned> bound;
    llvm::DenseMap<mlir::AffineExpr, Operand> known;
  };
  unsigned numInputSymbols;
  RegisterId next;
  std::vector<Scope> scopes;
  std::vector<Instruction> start;
  llvm::DenseMap<mlir::AffineExpr, Operand> knownAtStart;
};

} // namespace tcc::codegen
