//===- IndexPromise.h - index arithmetic that does not overflow ---*- C++ -*-===//
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::codegen::cuda_print {

/// Which values the promise of scheduled functions covers (Print.h): indices that are computed from ids of threads and
/// blocks, loop counters, constants and index arguments of the function alone.
class IndexPromise {
public:
  bool covers(mlir::Value value);

private:
  bool compute(mlir::Value value);
  bool all(mlir::ValueRange values);

  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace tcc::codegen::cuda_print
