//===- Constants.h - the constants of a plan ---------------------*- C++ -*-===//
#pragma once

#include <vector>

#include "runtime/plan.h"
#include "runtime/tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen {

/// Collects the constants that a plan reads, each content once.
class ConstantPool {
public:
  /// The index of an equal constant, added if there is none. `added` tells which.
  int32_t add(const tcc::Tensor &tensor, bool &added);
  /// Lays the constants out one after another, aligned; returns the size of the entry.
  int64_t layOut(std::vector<PlanConstant> &constants) const;
  std::vector<tcc::Tensor> take() { return std::move(tensors); }

private:
  std::vector<tcc::Tensor> tensors;
  llvm::DenseMap<uint64_t, llvm::SmallVector<int32_t, 1>> byHash;
};

/// Bytes that a constant takes in the constants entry (strings: length-prefixed).
int64_t storedBytes(const tcc::Tensor &tensor);

} // namespace tcc::codegen
