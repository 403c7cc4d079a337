//===- PackRows.h - copies blocks of A for GemmCore ---------------*- C++ -*-===//
#pragma once

#include "codegen/cpu/gemm/GemmCore.h"
#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::gemm {

/// A GemmCore::packA that evaluates an operand, given its index in terms of (g, m, k); vectors run along k, or along m
/// with a transposition in registers where the operand is contiguous that way. The kernel must outlive the function.
decltype(GemmCore::packA) packRowsOf(const TemplateKernel &kernel, const Operand &operand,
                                     llvm::ArrayRef<mlir::AffineExpr> coordinate, int64_t lanes);

/// Moves a lanes x lanes square of a plain operand whose unit stride is dimension `contiguous` of (d0, d1, d2) at
/// `origin`: row i of the result holds consecutive elements along the other of d1 and d2. Rows [0, countOther) along
/// the contiguous dimension and columns beyond the counts are zero or undefined, never read outside.
Values loadTransposed(Emit &e, const Frame &frame, mlir::Value memref, mlir::AffineExpr offset,
                      llvm::ArrayRef<mlir::Value> origin, unsigned contiguous, unsigned other,
                      mlir::Value countContiguous, mlir::Value countOther, int64_t lanes, mlir::Type compute);

} // namespace tcc::codegen::gemm
