//===- InterpretLoops.h - loop nests, element by element --------*- C++ -*-===//
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ir/Dialect.h"
#include "ir/InterpretScalars.h"
#include "runtime/tensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tcc::ir {

/// Runs a tcc.loops. `tensor` gives the tensor of a value the body loads from, `symbol` the value of a symbol. An index
/// that a load reads outside its tensor is an OutOfRange error.
absl::StatusOr<std::vector<Tensor>> interpretLoops(LoopsOp loops,
                                                   llvm::function_ref<absl::StatusOr<Tensor>(mlir::Value)> tensor,
                                                   llvm::function_ref<std::optional<int64_t>(unsigned)> symbol);

/// Runs a tcc.scatter, likewise. An element outside of what is scattered into is an OutOfRange error.
absl::StatusOr<std::vector<Tensor>> interpretScatter(ScatterOp scatter,
                                                     llvm::function_ref<absl::StatusOr<Tensor>(mlir::Value)> tensor,
                                                     llvm::function_ref<std::optional<int64_t>(unsigned)> symbol);

/// Elements of contiguous tensors; the type is the element's.
Scalar loadElement(const Tensor &tensor, mlir::Type type, int64_t flat);
void storeElement(const Tensor &tensor, mlir::Type type, int64_t flat, Scalar value);

} // namespace tcc::ir
