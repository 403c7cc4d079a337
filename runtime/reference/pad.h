// Padding, as `tcc.pad` and the library kernels built on it share it.
#pragma once

#include <string>

#include "runtime/reference/support.h"

namespace tcc::reference {

// low[axis] elements before and high[axis] after (negative: crops). mode: constant (with `fill`, or zero where it is
// invalid), reflect, edge, wrap.
Results PadTensor(const Tensor& x, const Tensor& fill, Extents low, Extents high, const std::string& mode);

}  // namespace tcc::reference
