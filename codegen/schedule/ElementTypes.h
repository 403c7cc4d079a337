//===- ElementTypes.h - types of elements in memory and registers -*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace tcc::codegen {

/// Float16 or bfloat16.
bool isHalf(mlir::Type element);
/// The signless integer of the same width; other types are their own.
mlir::Type signless(mlir::Type element);
/// The type that values of an element type are computed in: float32 for the halves, integers without sign.
mlir::Type computeType(mlir::Type element);
/// The type of an element in memory: bools are bytes, integers without sign.
mlir::Type storageType(mlir::Type element);

} // namespace tcc::codegen
