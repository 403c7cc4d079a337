#include "runtime/execution/int_ops.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tcc {

absl::StatusOr<int64_t> Evaluate(IntOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case IntOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case IntOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case IntOp::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case IntOp::kFloorDiv:
    case IntOp::kCeilDiv:
    case IntOp::kMod: {
      if (b == 0) return absl::InvalidArgumentError("shape arithmetic divides by zero");
      if (a == std::numeric_limits<int64_t>::min() && b == -1) {
        overflow = op != IntOp::kMod;
        break;
      }
      const int64_t rest = a % b;
      const bool same_sign = (rest < 0) == (b < 0);
      if (op == IntOp::kFloorDiv) {
        result = a / b - (rest != 0 && !same_sign);
      } else if (op == IntOp::kCeilDiv) {
        result = a / b + (rest != 0 && same_sign);
      } else {
        result = rest != 0 && !same_sign ? rest + b : rest;
      }
      break;
    }
    case IntOp::kMin:
      return std::min(a, b);
    case IntOp::kMax:
      return std::max(a, b);
    case IntOp::kEq:
      return a == b;
    case IntOp::kLt:
      return a < b;
  }
  if (overflow)
    return absl::OutOfRangeError(absl::StrCat("shape arithmetic overflows 64 bits (with ", a, " and ", b, ")"));
  return result;
}

}  // namespace tcc
