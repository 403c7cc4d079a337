//===- Epilogue.h - what libraries can do after a template op -----*- C++ -*-===//
//
// Libraries add a bias and another tensor, and take the maximum with zero, in this order:
//
//   y = [max(] op(...) [+ addend] [+ bias] [, 0)]
//
// Sums in another order are the same but for rounding (strict numerics take no calls). 16-bit floats are computed as
// float32, and rounded at the end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::cuda {

struct LibraryEpilogue {
  /// What is added: the element of a kernel argument at this offset, over the dimensions of the op's result.
  struct Term {
    int buffer;
    mlir::AffineExpr offset;
  };
  llvm::SmallVector<Term, 2> terms;
  /// Where the kernel's result has the element, likewise.
  mlir::AffineExpr result;
  bool relu = false;
};

/// The epilogue of a kernel with one result, of the op's element type; nothing where it is another one.
std::optional<LibraryEpilogue> libraryEpilogue(const gemm::TemplateKernel &kernel);

} // namespace tcc::codegen::cuda
