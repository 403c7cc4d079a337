//===- ShapeText.h - what texts of library kernels share ----------*- C++ -*-===//
#pragma once

#include <optional>

#include "codegen/cuda/library/LibraryKernel.h"
#include "ir/ElementTypes.h"
#include "runtime/attributes.h"
#include "runtime/dtype.h"

namespace tcc::codegen::cuda {

/// Which operand of a tcc.library the kernel's input `position` is; nothing where it is absent.
std::optional<unsigned> operandAt(mlir::Operation *op, int64_t position);

/// Attributes as the reference kernel gets them.
tcc::Attributes attributesOf(mlir::Operation *op);

/// The statement that makes tcc::Axes of extents, which become scalars.
std::string axesText(llvm::StringRef name, llvm::ArrayRef<mlir::AffineExpr> extents,
                     llvm::SmallVectorImpl<LibraryKernel::Scalar> &scalars);

/// A double as an expression.
std::string doubleText(double value);

} // namespace tcc::codegen::cuda
