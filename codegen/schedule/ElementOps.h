//===- ElementOps.h - elementwise ops of bodies, in memory and registers ---*- C++ -*-===//
//
// What the bodies of loops and those inside the tiles of templates have in common: the types that elements have in
// memory and while they are computed, and every op that is neither a load nor about indices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>

#include "codegen/schedule/ElementTypes.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace tcc::codegen {

/// A vector, or the element itself for one lane.
mlir::Type vectorOf(mlir::Type element, int64_t lanes);

/// From the type in memory to the one it is computed in, and back; scalars and vectors.
mlir::Value fromStorage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type element);
/// `nativeBf16`: the target's conversion to bfloat16 rounds to the nearest and keeps denormals; else it is spelled out.
mlir::Value toStorage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type element,
                      bool nativeBf16 = false);

/// One operation of index arithmetic, folded as it is built; scalars or vectors. `nonNegative`: the left operand is.
mlir::Value emitIndexOp(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExprKind kind, mlir::Value lhs,
                        mlir::Value rhs, bool nonNegative);

/// Emits an expression over symbols only.
mlir::Value emitExtent(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExpr expr,
                       llvm::ArrayRef<mlir::Value> symbols);

/// Emits ops of bodies on values of their compute types.
struct ElementOps {
  mlir::OpBuilder &b;
  mlir::Location loc;
  bool contract = true;    ///< whether a * b + c may be fused
  bool nativeBf16 = false; ///< see toStorage()
  /// Called where a lane divides by zero, with the condition (a scalar or vector) and a code of kernel_abi.h; the
  /// quotient is that by one. Null: not reported.
  std::function<void(mlir::Value bad, int64_t code)> report = {};

  /// The result of an elementwise op (or constant) on these operands: on scalars where all of them are, else on vectors
  /// of `lanes`.
  mlir::Value emit(mlir::Operation &op, llvm::ArrayRef<mlir::Value> operands, int64_t lanes);

private:
  mlir::Value divide(mlir::Operation &op, mlir::Value lhs, mlir::Value rhs);
};

} // namespace tcc::codegen
