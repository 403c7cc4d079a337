//===- CppExpr.h - affine expressions and types as C++ text -------*- C++ -*-===//
#pragma once

#include <string>

#include "codegen/schedule/IndexExpr.h"

namespace tcc::codegen::cuda {

/// The names of an expression's dimensions; symbols are s0, s1, ....
using Names = llvm::ArrayRef<llvm::StringRef>;

/// The expression in C++, with parentheses around it where it is a sum. `ranges` knows where divisions meet nothing
/// negative: those are C++'s own.
std::string cppExpr(mlir::AffineExpr expr, Names dims, IndexSimplifier &ranges);

/// Symbols that occur in the expressions, ascending.
llvm::SmallVector<unsigned> symbolsIn(llvm::ArrayRef<mlir::AffineExpr> exprs);

/// How an element type is written, with its sign: "float", "unsigned short". Empty for types that device kernels do not
/// know.
std::string elementText(mlir::Type element);

} // namespace tcc::codegen::cuda
