// Plan <-> JSON, as a package stores it.
//
// An instruction is an object whose "do" names it; values and registers are numbers; an operand is a number (immediate)
// or "r3" (register 3). `unzip -p model.tcc plan/0.json | python3 -m json.tool` shows one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan.h"

namespace tcc {

// Byte-for-byte the same for the same plan.
std::string PlanToJson(const Plan& plan);

// An InvalidArgument error that says where for anything that is not a valid plan (see ValidatePlan).
absl::StatusOr<Plan> PlanFromJson(std::string_view text);

// Every id is in range, every block has its blocks, lists have the lengths that belong together, immediates that are
// extents or sizes are not negative, constants are as large as their type says and aligned, values are in the space
// where an instruction takes them (plan_spaces.h). What depends on the flow of
// execution (a value read before it is set) is an error at run time.
absl::Status ValidatePlan(const Plan& plan);

}  // namespace tcc
