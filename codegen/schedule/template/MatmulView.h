//===- MatmulView.h - a tcc.matmul as products of matrices --------*- C++ -*-===//
#pragma once

#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::gemm {

/// A matmul as C[g, m, n]: how many g, m, n and k there are, and the operands' indices in terms of them.
struct MatmulView {
  mlir::AffineExpr batch, m, n, k;
  Exprs a, b, c;        ///< coordinates over (g, m, k), (g, k, n), (g, m, n)
  bool sharedB = false; ///< one matrix B for all: the batch is more rows then
};

MatmulView viewOf(const TemplateKernel &kernel);

} // namespace tcc::codegen::gemm
