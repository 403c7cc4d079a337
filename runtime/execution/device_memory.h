// What a plan takes on its device, for errors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/plan.h"
#include "runtime/tensor.h"

namespace tcc {

// The type of a value where it is known, else an invalid one.
using ValueTypes = std::function<TensorType(ValueId)>;
// -1 where it is not known.
using OperandValues = std::function<int64_t(const Operand&)>;

// "the plan takes 1.2 GiB on cuda:0: constants ...": the sum, its parts, and the largest values with the launches that
// make or read them. `pool_bytes`: what is held for values that are in no slot.
std::string DeviceMemoryText(const Plan& plan, const std::vector<Space>& slot_spaces, const std::string& device,
                             int64_t constants_bytes, int64_t pool_bytes, const ValueTypes& types,
                             const OperandValues& evaluate);

}  // namespace tcc
