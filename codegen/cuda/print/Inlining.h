//===- Inlining.h - which values are printed where they are used --*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tcc::codegen::cuda_print {

/// Whether an op writes memory, or might.
bool mayWrite(mlir::Operation *op);
/// Whether an op, or one in its regions, loads from memory.
bool readsMemory(mlir::Operation *op);
/// arith and math ops, lane by lane on vectors.
bool isElementwise(mlir::Operation *op);
/// Ops whose text is as short as a name: constants, splats and casts that only change a type.
bool isAlias(mlir::Operation *op);

/// Decides for every op of a function whether it is left out as dead, printed as part of the only expression that uses
/// it, or a statement.
class Inlining {
public:
  explicit Inlining(mlir::func::FuncOp function);

  bool isDead(mlir::Operation *op) const { return dead.contains(op); }
  bool isInlined(mlir::Operation *op) const { return roots.contains(op); }
  /// Whether an scf.if only chooses between two expressions.
  bool isChoice(mlir::scf::IfOp op) const;
  /// Uses by ops that are not dead.
  unsigned uses(mlir::Value value) const { return liveUses.lookup(value); }
  /// The op of a value's only use, null where there are none or more.
  mlir::OpOperand *onlyUse(mlir::Value value) const;

private:
  void findDead(mlir::func::FuncOp function);
  void decide(mlir::Block &block);
  bool isExpression(mlir::Operation *op) const;
  bool canHold(mlir::OpOperand &use, mlir::Operation *op) const;

  llvm::DenseSet<mlir::Operation *> dead;
  llvm::DenseMap<mlir::Value, unsigned> liveUses;
  llvm::DenseSet<mlir::Operation *> repeated; ///< inlined into what a loop evaluates before each iteration
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> roots; ///< of inlined ops: the statement they are a part of
};

} // namespace tcc::codegen::cuda_print
