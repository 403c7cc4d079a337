//===- Kernels.h - what measurements know kernels by ------------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

#include "ir/Dialect.h"

namespace tcc::compiler {

/// A value for each symbol: the call's, otherwise one within the symbol's range.
std::vector<int64_t> valuesOf(mlir::ArrayAttr symbols, llvm::ArrayRef<int64_t> known);

/// The kernel as text, without names. A constant's elements change nothing about speed; that it is one does.
std::string textOf(ir::KernelOp kernel, llvm::ArrayRef<int64_t> symbols);

/// The ops it was made from, for people.
std::string nameOf(ir::KernelOp kernel);

} // namespace tcc::compiler
