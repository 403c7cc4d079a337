// Convolution, as `tcc.conv` and the integer and quantised library kernels share it.
#pragma once

#include "runtime/reference/window.h"

namespace tcc::reference {

// x [N, C, spatial..] or [N, spatial.., C], w [O, C / groups, kernel..]; any numeric dtype, the same for both.
Results ConvTensor(const Tensor& x, const Tensor& w, const Window& window, int64_t groups, bool channels_last);

}  // namespace tcc::reference
