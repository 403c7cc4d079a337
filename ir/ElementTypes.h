//===- ElementTypes.h - dtype <-> MLIR element type -------------*- C++ -*-===//
#pragma once

#include "ir/Dialect.h"
#include "runtime/dtype.h"
#include "runtime/tensor.h"

namespace tcc::ir {

/// The element type of a dtype (one to one; null for kInvalid).
mlir::Type getElementType(mlir::MLIRContext *context, DType dtype);
/// The dtype of an element type; kInvalid for a type that no dtype has.
DType getDType(mlir::Type elementType);

/// dtype and extents of a tensor type, -1 for an extent that is not constant.
TensorType getTensorType(mlir::RankedTensorType type);

/// A static tensor type.
mlir::RankedTensorType getMlirType(mlir::MLIRContext *context, const TensorType &type);

/// The elements of an attribute as a tensor. Dense resources are shared, not copied; packed types (i4, f4E2M1), bool
/// splats and other layouts that differ from the runtime's are copied. Elements that toElements put there stay as long
/// as the tensor; those that were parsed are the context's, which the tensor must not outlive. Errors: no dtype, a
/// resource that is missing or too short.
absl::StatusOr<Tensor> toTensor(mlir::ElementsAttr elements);

/// A tensor as an attribute: small ones are copied into the context, large ones (over 4 KiB) become a dense resource
/// that keeps the tensor's memory alive and shares it. Strings have no elements attribute: an error.
absl::StatusOr<mlir::ElementsAttr> toElements(mlir::MLIRContext *context, const Tensor &tensor);

} // namespace tcc::ir
