//===- Template.h - a tcc.kernel around a template op -------------*- C++ -*-===//
//
// What the schedules of matmul, conv and attention share: which operands are plain (strided) reads, where the results
// of a kernel lie in the space of the template's result, and the evaluation of prologue and epilogue.
//
// A template's operand is a kernel argument or the result of tcc.loops without reduction. A kernel's result is the
// template's, or that of tcc.loops that read the template's result at one index which maps their nest one to one onto
// it (pointwise, transposed, reshaped).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/schedule/template/Body.h"
#include "ir/Dialect.h"

namespace tcc::codegen::gemm {

/// An operand of a template op.
struct Operand {
  mlir::Value tensor;
  mlir::Type element;
  Exprs extents;
  /// A plain read: element (d0, d1, ...) is in kernel argument `argument` at this offset. Null for anything computed.
  mlir::AffineExpr offset;
  int argument = -1;
};

/// A result of the kernel.
struct Output {
  mlir::Value tensor; ///< the template's result or a result of tcc.loops
  Exprs coordinate;   ///< its index in terms of the template result's index (d0, d1, ...)
};

class TemplateKernel {
public:
  /// Nothing where the kernel has no template op, or where something about it is not of the form above.
  static std::optional<TemplateKernel> analyze(ir::KernelOp kernel);

  mutable ir::KernelOp kernel; // its accessors are not const
  mlir::Operation *op = nullptr;
  llvm::SmallVector<Operand> operands;
  llvm::SmallVector<Output> outputs;
  Exprs resultExtents;
  int64_t epilogueCost = 0;

  int numInputs() const;
  mlir::Value result() const { return op->getResult(0); }
  mlir::Type resultElement() const;
  unsigned numSymbols() const;

  /// Evaluates an operand at a coordinate over the dims of `point`.
  mlir::Value evaluate(Emit &e, const Frame &frame, Point point, mlir::Value tensor,
                       llvm::ArrayRef<mlir::AffineExpr> coordinate) const;
  /// Applies the epilogue to `value` (of the accumulation type), the template's result at `coordinate`, and stores
  /// every output.
  void finish(Emit &e, const Frame &frame, Point point, mlir::Value value,
              llvm::ArrayRef<mlir::AffineExpr> coordinate) const;
  /// The same at several points, of which none depends on another: everything is read before anything is stored.
  void finishAll(Emit &e, const Frame &frame, llvm::ArrayRef<Point> points, llvm::ArrayRef<mlir::Value> values,
                 llvm::ArrayRef<mlir::AffineExpr> coordinate) const;
  /// Whether the epilogue is cheap, and writes the lanes along `laneDim` of `coordinate` next to each other: then it
  /// may be repeated for every accumulator.
  bool cheapEpilogue(llvm::ArrayRef<mlir::AffineExpr> coordinate, unsigned laneDim, int64_t lanes) const;
  /// Results that may overwrite an input: read by the epilogue at the very element that is written, and by nothing
  /// else.
  llvm::SmallVector<std::pair<int32_t, int32_t>> inPlace() const;
};

/// float32 for narrower floats, i32 for narrower integers, otherwise the type itself.
mlir::Type accumulationType(mlir::Type element);

} // namespace tcc::codegen::gemm
