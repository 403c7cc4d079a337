// The k largest or smallest elements of each line, as `tcc.top_k` and dynamic_top_k share it.
#pragma once

#include "runtime/reference/support.h"

namespace tcc::reference {

// Values and i64 indices, sorted; ties by lower index; NaN counts as the largest value.
Results TopKTensor(const Tensor& x, int axis, int64_t k, bool largest);

}  // namespace tcc::reference
