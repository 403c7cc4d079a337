//===- OpAttributes.h - an op's attributes as the runtime's -----*- C++ -*-===//
#pragma once

#include "ir/Dialect.h"
#include "runtime/attributes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tcc::ir {

/// Values of the function's symbols, for attributes that depend on them; null leaves such attributes out.
using SymbolValue = llvm::function_ref<std::optional<int64_t>(unsigned position)>;

/// The attributes reference kernels see, under their ODS names (those of `config` for tcc.library): bools as 0 or 1,
/// enums as their strings, lists as vectors, extents lists evaluated with `symbolValue`. An error names an attribute of
/// a kind the runtime does not have.
absl::StatusOr<Attributes> getAttributes(mlir::Operation *op, SymbolValue symbolValue);

/// The reference kernel's name: the mnemonic, or `kernel` of tcc.library.
llvm::StringRef getKernelName(mlir::Operation *op);

/// Value of an expression; nothing where a symbol or a dimension has no value, or the arithmetic overflows or divides
/// by zero.
std::optional<int64_t> evaluate(mlir::AffineExpr expr, SymbolValue symbolValue, SymbolValue dimValue = nullptr);

} // namespace tcc::ir
