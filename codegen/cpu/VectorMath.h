//===- VectorMath.h - math functions without a C library ----------*- C++ -*-===//
//
// Expands the ops of the math dialect (and arith.remf) that LLVM would turn into calls. f32 on scalars and vectors of
// any length, f64 likewise, f16 and bf16 through f32. Largest errors are listed in VectorMath.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace tcc::codegen {

/// Expands everything below `root`.
void expandMath(mlir::Operation *root);

/// 1 / (1 + exp(-x)), for f32 scalars and vectors.
mlir::Value emitSigmoid(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

} // namespace tcc::codegen
