//===- Lowering.h - scheduled functions to the LLVM dialect -------*- C++ -*-===//
#pragma once

#include "codegen/cpu/CpuDescription.h"
#include "mlir/IR/BuiltinOps.h"

namespace tcc::codegen {

/// Lowers all functions of a module (see Backend.h for their form) to the LLVM dialect, and gives each the exported
/// wrapper of its name that unpacks the kernel context. The function itself becomes internal and always inlined.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

} // namespace tcc::codegen
