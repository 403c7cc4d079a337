// Indices that arrive as data: every one is checked before it is used.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/reference/support.h"

namespace tcc::reference {

// All indices in row-major order, negative ones counted from the end. An OutOfRange error names index, axis and extent.
absl::StatusOr<std::vector<int64_t>> NormalizedIndices(const Tensor& indices, int64_t extent, int axis);

// The rule of gather_elements and scatter_elements: equal ranks, and off the axis no extent beyond x's.
absl::Status CheckIndexedDims(const Tensor& x, const Tensor& indices, int axis);

// Index tuples of gather_nd and scatter_nd as element offsets into x.
struct TupleIndices {
  int width = 0;                 // entries of a tuple
  std::vector<int64_t> offsets;  // one per tuple, row-major
};
absl::StatusOr<TupleIndices> ReadTuples(const Tensor& x, const Tensor& indices, int64_t batch_dims);

}  // namespace tcc::reference
