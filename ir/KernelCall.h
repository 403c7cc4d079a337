//===- KernelCall.h - reference kernels on the operands of an op -*- C++ -*-===//
#pragma once

#include <vector>

#include "ir/Dialect.h"
#include "ir/OpAttributes.h"
#include "runtime/tensor.h"

namespace tcc::ir {

/// Runs the reference kernel of a tensor op (tcc.library: the one it names). `operands` has one tensor for each operand
/// of the op. Result extents whose symbols have no value are for the kernel to find out. Errors: no such kernel, a
/// list attribute that depends on a symbol without value, whatever the kernel reports.
absl::StatusOr<std::vector<Tensor>> callReference(mlir::Operation *op, absl::Span<const Tensor> operands,
                                                  SymbolValue symbolValue);

/// The same with other result types than the op's.
absl::StatusOr<std::vector<Tensor>> callReference(mlir::Operation *op, absl::Span<const Tensor> operands,
                                                  SymbolValue symbolValue, absl::Span<const TensorType> results);

} // namespace tcc::ir
