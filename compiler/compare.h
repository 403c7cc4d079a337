// Whether two tensors are the same but for rounding.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tensor.h"

namespace tcc {

// What differs between two sets of outputs; ok where all is within |a - b| <= atol + rtol * |b|, where float16 and
// bfloat16 get at least two units in the last place. NaN equals NaN.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-5;
  double scaled_atol = 0;  // raises atol to this part of the largest expected magnitude
};
// The largest |actual - expected|, relative to the largest |expected|; infinity where only one is NaN.
absl::StatusOr<double> RelativeError(const Tensor& actual, const Tensor& expected);
absl::Status CompareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace tcc
