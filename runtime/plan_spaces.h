// Which values and slots of a plan are in device memory.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan.h"

namespace tcc {

struct PlanSpaces {
  std::vector<Space> values;  // those that nothing sets: host
  std::vector<Space> slots;
  bool has_device = false;  // anything at all is on a device, or is started there

  Space of(ValueId value) const { return values[static_cast<size_t>(value)]; }
};

// For a plan whose ids are in range. InvalidArgument where a value or a slot would be in both spaces, or an instruction
// would find a value in the space where it does not work.
absl::StatusOr<PlanSpaces> FindSpaces(const Plan& plan);

}  // namespace tcc
