// How far results are from what they should be.
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/dispatch.h"
#include "runtime/tensor.h"

namespace tcc {

// Largest difference relative to the largest expected value (or to `least`, where all are smaller); infinite where only
// one is NaN. Of tensors of the same type.
inline double RelativeError(const Tensor& expected, const Tensor& actual, double least = 1e-30) {
  const Tensor x = *expected.Contiguous(), y = *actual.Contiguous();
  double scale = least, difference = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double l = LoadDouble(x.data(), x.dtype(), i), r = LoadDouble(y.data(), y.dtype(), i);
    if (std::isnan(l) != std::isnan(r)) return INFINITY;
    if (std::isnan(l) || l == r) continue;
    scale = std::max(scale, std::fabs(l));
    difference = std::max(difference, std::fabs(l - r));
  }
  return difference / scale;
}

}  // namespace tcc
