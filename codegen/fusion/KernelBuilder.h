//===- KernelBuilder.h - builds one tcc.kernel -------------------*- C++ -*-===//
#pragma once

#include "codegen/schedule/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen {

/// A tensor type with a signless element type.
mlir::RankedTensorType signlessTensor(mlir::Type tensorType);
/// Whether kernels compute on elements of this type.
bool isKernelElement(mlir::Type elementType);
/// Widens half floats to f32 and back; other scalars as they are. `asked`: the model asks for the rounding (a cast).
/// Otherwise it is only there because a value is stored, and goes where fusion makes the next op read the value itself.
mlir::Value toCompute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar);
mlir::Value fromCompute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar, mlir::Type elementType,
                        bool asked = false);
/// Whether a truncation is one that the model asks for.
bool isAskedFor(mlir::arith::TruncFOp truncation);

/// The body of a tcc.loops under construction.
class Nest {
public:
  Nest(mlir::OpBuilder &b, mlir::Location loc, ir::LoopsOp loops);
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::AffineExpr dim(unsigned i) const { return mlir::getAffineDimExpr(i, b.getContext()); }
  mlir::AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, b.getContext()); }
  /// The first `count` dimensions (all of them without one).
  ir::Exprs dims(std::optional<unsigned> count = std::nullopt) const;
  mlir::Value index(unsigned i) const { return indices[i]; }

  /// An element at quasi-affine indices over the loops (and over `extra` index values, which are the dimensions after
  /// them). Where `mask` (expressions that must not be negative) fails it is `fill`, or zero.
  mlir::Value load(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> at, llvm::ArrayRef<mlir::AffineExpr> mask = {},
                   mlir::Value fill = {}, mlir::ValueRange extra = {});
  /// load, with half floats widened.
  mlir::Value loadCompute(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> at) {
    return toCompute(b, loc, load(tensor, at));
  }
  mlir::Value inSet(llvm::ArrayRef<mlir::AffineExpr> mask);
  /// An expression over loops and symbols as an index value.
  mlir::Value apply(mlir::AffineExpr expr, mlir::ValueRange extra = {});
  mlir::Value constantOf(mlir::Type type, double value);

private:
  llvm::SmallVector<mlir::Value> indices;
  unsigned numSymbols;
};

/// Makes the tcc.kernel that stands for one level-1 op, before it.
class KernelBuilder {
public:
  explicit KernelBuilder(mlir::Operation *source);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return source->getLoc(); }
  mlir::MLIRContext *context() const { return source->getContext(); }
  /// The kernel's argument for operand `i` of the op.
  mlir::Value input(unsigned i) { return arguments[i]; }
  /// A constant made for the kernel, as one more input.
  mlir::Value addConstant(mlir::ElementsAttr value);
  mlir::AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, context()); }

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(Nest &)>;
  /// A loop nest; the last `numReductions` loops are reduced with `kinds`. One result for each element type.
  mlir::ResultRange loops(llvm::ArrayRef<mlir::AffineExpr> extents, unsigned numReductions,
                          llvm::ArrayRef<ir::ReduceKind> kinds, mlir::TypeRange elementTypes, Body body);
  /// Without reductions, one result.
  mlir::Value map(llvm::ArrayRef<mlir::AffineExpr> extents, mlir::Type elementType,
                  llvm::function_ref<mlir::Value(Nest &)> body);
  /// One reduction.
  mlir::Value reduce(llvm::ArrayRef<mlir::AffineExpr> extents, unsigned numReductions, ir::ReduceKind kind,
                     mlir::Type elementType, llvm::function_ref<mlir::Value(Nest &)> body);

  /// Ends the kernel; the op's users are not changed yet.
  ir::KernelOp finish(mlir::ValueRange results);
  void erase() { kernel.erase(); }
  ir::KernelOp get() { return kernel; }

private:
  mlir::Operation *source;
  mlir::OpBuilder b;
  ir::KernelOp kernel;
  llvm::SmallVector<mlir::Value> arguments;
};

/// The name under which a level-1 op appears in `sources`: the node's name if it has one, else its mnemonic.
std::string sourceName(mlir::Operation *op);
/// The same of an op that several nodes were merged to: one name a node.
llvm::SmallVector<std::string> sourceNames(mlir::Operation *op);

} // namespace tcc::codegen
