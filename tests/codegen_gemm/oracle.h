// Evaluates a tcc.kernel in double precision, one element at a time, in the plainest way: what the generated code is
// compared with.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/Dialect.h"

namespace tcc::codegen::testing {

struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;
  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

// Extents of a tensor type for these values of the symbols.
std::vector<int64_t> DimsOf(mlir::Type type, const std::vector<int64_t>& symbols);

// The kernel's results.
std::vector<Array> Evaluate(ir::KernelOp kernel, const std::vector<Array>& inputs, const std::vector<int64_t>& symbols);

}  // namespace tcc::codegen::testing
