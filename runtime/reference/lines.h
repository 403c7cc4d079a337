// Lines along one axis of a tensor: where each starts in two operands of the same extents.
#pragma once

#include "runtime/reference/support.h"

namespace tcc::reference {

// Calls f(x offset, y offset) for each line along `axis`, in row-major order of the other axes. Strides of the axis
// itself are the caller's.
template <typename F>
void ForEachLine(Extents dims, int axis, Extents x_strides, Extents y_strides, F f) {
  Dims outer(dims.begin(), dims.end());
  outer[axis] = 1;
  for (Runs runs(outer, {x_strides, y_strides}); runs.more(); runs.Next()) {
    for (int64_t i = 0; i < runs.length(); ++i) {
      f(runs.offset(0) + i * runs.step(0), runs.offset(1) + i * runs.step(1));
    }
  }
}

}  // namespace tcc::reference
