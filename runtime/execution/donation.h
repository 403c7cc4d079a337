// Which inputs are not needed any more when an output is made.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan.h"

namespace tcc {

// By output: the inputs whose memory it may be computed into, if the caller gives it away. All that read such an input,
// or a view of it, come before the output's allocation.
std::vector<std::vector<int32_t>> FindDonations(const Plan& plan);

}  // namespace tcc
