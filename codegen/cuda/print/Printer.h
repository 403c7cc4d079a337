//===- Printer.h - statements and expressions of a function -------*- C++ -*-===//
#pragma once

#include "codegen/cuda/print/IndexPromise.h"
#include "codegen/cuda/print/Inlining.h"
#include "codegen/cuda/print/Names.h"
#include "codegen/cuda/print/Text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tcc::codegen::cuda_print {

/// Prints the body of one function. Statements of a block come in the order of its ops; an inlined op is only an
/// expression, kept until the one that uses it asks for it.
class Printer {
public:
  Printer(mlir::func::FuncOp function, Names names, unsigned indent);

  Names &getNames() { return names; }
  unsigned indexWidth() const { return indexBits; }

  //===- Types -------------------------------------------------------------===//
  /// Of variables, checked to be known: "int", "tcc::Vec<float, 4>".
  std::string typeOf(mlir::Type type) const;
  /// Of elements in memory: bools are unsigned char.
  std::string memoryType(mlir::Type element) const;
  bool isPrintable(mlir::Type type) const;
  /// tcc::Vec, which is loaded and stored at once; others are tcc::Lanes.
  bool isMemoryVector(mlir::VectorType type) const;
  /// Of an integer or index.
  unsigned width(mlir::Type type) const;
  /// Whether a function writes through a pointer or gives it to somebody who may.
  static bool isWritten(mlir::Value memref);

  //===- Values ------------------------------------------------------------===//
  void define(mlir::Value value, Expr expr) { values[value] = std::move(expr); }
  /// Of a name, which for vectors denotes all elements.
  void defineName(mlir::Value value, const std::string &name);

  /// As it is.
  Expr get(mlir::Value value) const { return values.lookup(value); }
  /// Of the signed or unsigned type of an integer's width; floats and bools are what they are.
  Expr getSigned(mlir::Value value) const { return toSigned(get(value), value.getType()); }
  Expr getUnsigned(mlir::Value value) const { return toUnsigned(get(value), value.getType()); }
  /// Of exactly the type, for arguments that templates deduce from.
  std::string getTyped(mlir::Value value) const;
  /// The variable of a vector; makes one where it is an expression.
  std::string vectorName(mlir::Value value);

  bool isUsed(mlir::Value value) const { return inlining.uses(value) != 0; }

  //===- Output ------------------------------------------------------------===//
  mlir::LogicalResult printBlock(mlir::Block &block);
  void line(const std::string &text);
  void open(const std::string &text);   ///< ends in {; everything up to close() is one level deeper, names included
  void reopen(const std::string &text); ///< } else {
  void close(const std::string &text = "}");
  std::string takeText() { return std::move(text); }

private:
  Expr toSigned(Expr expr, mlir::Type type) const;
  Expr toUnsigned(Expr expr, mlir::Type type) const;

  mlir::LogicalResult print(mlir::Operation &op);
  mlir::LogicalResult printStatement(mlir::Operation &op);
  mlir::LogicalResult check(mlir::Operation &op);
  mlir::InFlightDiagnostic unknown(mlir::Operation &op, llvm::StringRef why = {});
  /// Named or kept, as the op is to be printed.
  mlir::LogicalResult result(mlir::Operation &op, Expr expr);
  bool shorten(mlir::Operation &op);
  std::string nameFor(mlir::Operation &op);
  void declare(mlir::Value value, const Expr &expr, const std::string &name);
  void assign(const std::string &name, mlir::Value value);
  void assignAll(llvm::ArrayRef<std::string> names, mlir::ValueRange values);

  // arith and math: PrintArith.cpp, PrintInteger.cpp, PrintMath.cpp
  mlir::FailureOr<Expr> expression(mlir::Operation &op);
  mlir::FailureOr<Expr> constant(mlir::arith::ConstantOp op);
  Expr constantOf(mlir::TypedAttr attr) const;
  mlir::FailureOr<Expr> integer(mlir::Operation &op);
  mlir::FailureOr<Expr> boolean(mlir::Operation &op);
  mlir::FailureOr<Expr> real(mlir::Operation &op);
  mlir::FailureOr<Expr> conversion(mlir::Operation &op);
  mlir::FailureOr<Expr> math(mlir::Operation &op);
  Expr compare(mlir::arith::CmpIOp op);
  Expr compare(mlir::arith::CmpFOp op);
  Expr select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::FailureOr<Expr> choice(mlir::scf::IfOp op);
  mlir::LogicalResult inlineBlock(mlir::Block &block);
  Expr binary(const Expr &a, llvm::StringRef symbol, const Expr &b, Precedence precedence, bool isUnsigned = false);
  Expr call(const std::string &function, llvm::ArrayRef<std::string> arguments);

  // memref and vector: PrintMemory.cpp, PrintVector.cpp
  std::string element(mlir::Value memref, mlir::ValueRange indices) const;
  std::string address(mlir::Value memref, mlir::ValueRange indices) const;
  mlir::LogicalResult printMemory(mlir::Operation &op);
  mlir::LogicalResult printAlloca(mlir::memref::AllocaOp op);
  mlir::LogicalResult printView(mlir::Operation &op);
  mlir::LogicalResult printAtomic(mlir::memref::AtomicRMWOp op);
  mlir::LogicalResult printVector(mlir::Operation &op);
  mlir::FailureOr<Expr> vectorElement(mlir::Operation &op);
  mlir::LogicalResult printElements(mlir::arith::ConstantOp op);
  mlir::LogicalResult printReduction(mlir::vector::ReductionOp op);

  // scf, gpu, func: PrintControl.cpp, PrintGpu.cpp
  mlir::LogicalResult printFor(mlir::scf::ForOp op);
  mlir::LogicalResult printIf(mlir::scf::IfOp op);
  mlir::LogicalResult printWhile(mlir::scf::WhileOp op);
  llvm::SmallVector<std::string> declareCarried(mlir::ValueRange inits, mlir::ValueRange variables,
                                                llvm::StringRef base);
  mlir::LogicalResult printGpu(mlir::Operation &op);
  mlir::LogicalResult printCall(mlir::func::CallOp op);

  mlir::func::FuncOp function;
  Inlining inlining;
  IndexPromise promise;
  Names names;
  unsigned indexBits;
  bool isStrict;
  bool onlyExpressions = false; ///< in a choice: no statement can be printed
  bool tooLong = false;
  unsigned depth;
  std::string text;
  llvm::DenseMap<mlir::Value, Expr> values;
  llvm::DenseMap<mlir::Value, std::string> vectorNames;
};

} // namespace tcc::codegen::cuda_print
