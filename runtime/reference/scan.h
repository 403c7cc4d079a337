// Running reductions, as `tcc.scan` and dynamic_scan share them.
#pragma once

#include <string>

#include "runtime/reference/support.h"

namespace tcc::reference {

Results ScanTensor(const Tensor& x, const std::string& kind, int axis, bool exclusive, bool reverse);

}  // namespace tcc::reference
