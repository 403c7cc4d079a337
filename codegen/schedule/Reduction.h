//===- Reduction.h - how reductions start and go on ---------------*- C++ -*-===//
#pragma once

#include "codegen/schedule/LoopNest.h"
#include "mlir/IR/Builders.h"

namespace tcc::codegen {

ir::ReduceKind reduceKind(const LoopNest &nest, unsigned result);
/// What a result of a reduction starts from, of its compute type: a scalar, or a vector for more than one lane.
mlir::Value reduceIdentity(mlir::OpBuilder &b, const LoopNest &nest, unsigned result, int64_t lanes);
/// Two values of the result's compute type as one, scalars or vectors.
mlir::Value reduceCombine(mlir::OpBuilder &b, const LoopNest &nest, unsigned result, mlir::Value x, mlir::Value y);

} // namespace tcc::codegen
