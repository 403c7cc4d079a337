//===- ScalarOps.h - pointwise ops on scalars --------------------*- C++ -*-===//
#pragma once

#include "ir/Extents.h"

namespace tcc::codegen {

/// The scalar form of a pointwise level-1 op (ir/OpsPointwise.td): `operands` are the scalars of its operands as loaded
/// (half floats as such). Returns the result's scalar in the result's element type, or null if the op has no scalar
/// form for these types.
mlir::Value emitScalarOp(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

/// Conversion of a scalar as tcc.cast has it; the types with their signs.
mlir::Value emitScalarCast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar, mlir::Type from, mlir::Type to);

} // namespace tcc::codegen
