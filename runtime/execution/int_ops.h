// Shape arithmetic of plans.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/plan.h"

namespace tcc {

// `a op b` in 64 bits. OutOfRange where it overflows, InvalidArgument for a division by zero.
absl::StatusOr<int64_t> Evaluate(IntOp op, int64_t a, int64_t b);

}  // namespace tcc
