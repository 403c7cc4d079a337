//===- ConstantMemory.h - the memory of large constants ---------*- C++ -*-===//
//
// A context keeps each attribute, and with it the elements of each constant there ever was, until its end: a weight
// that was transposed, then scaled, is there three times. What no module uses any more is freed here, between phases.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>
#include <mutex>

#include "ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::ir {

/// The resources that toElements made. Thread safety: all methods.
class ConstantMemory : public mlir::DialectInterface::Base<ConstantMemory> {
public:
  explicit ConstantMemory(mlir::Dialect *dialect) : Base(dialect) {}

  /// Null in a context without the tcc dialect.
  static const ConstantMemory *of(mlir::MLIRContext *context);

  void add(mlir::DenseResourceElementsHandle handle, std::shared_ptr<const Tensor> elements) const;
  /// What keeps the resource's elements; null for one that toElements did not make.
  std::shared_ptr<const Tensor> elements(mlir::DenseResourceElementsHandle handle) const;
  /// Forgets the elements that none of the modules refers to; the memory goes with the last tensor that shares it.
  /// Attributes that something else keeps across phases become useless: reading them is an error ("too short").
  void release(llvm::ArrayRef<mlir::ModuleOp> inUse) const;

private:
  // Dialect interfaces are reached as const objects.
  mutable std::mutex mutex;
  mutable llvm::DenseMap<mlir::DialectResourceBlobManager::BlobEntry *, std::shared_ptr<const Tensor>> resources;
};

} // namespace tcc::ir
