// Whether two tensors are the same but for rounding.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/include/tcc/options.h"
#include "runtime/tensor.h"

namespace tcc {

// What differs between two sets of outputs; ok where all is within |a - b| <= atol + rtol * |b|, where float16 and
// bfloat16 get at least two units in the last place. NaN equals NaN.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-5;
  double scaled_atol = 0;  // raises atol to this part of the largest expected magnitude
};
// What rounding may come to where values inside are kept with this precision: a part of the largest value of an output.
// Each stored value is off by up to 2^-8 of it in bfloat16, 2^-11 in float16, and later layers add to that: the models
// of tests/zoo end 0.004 to 0.06 off in bfloat16, 0.0004 to 0.011 in float16. The bounds are those that outputs of
// these types get (verify.cpp): 0.1 and 0.02, twice the worst of these. 0 for the other precisions: nothing to add.
double RoundingOf(Precision precision);
// The largest |actual - expected|, relative to the largest |expected|; infinity where only one is NaN.
absl::StatusOr<double> RelativeError(const Tensor& actual, const Tensor& expected);
absl::Status CompareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace tcc
