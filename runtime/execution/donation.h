// Which inputs are not needed any more when an output is made.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan.h"

namespace tcc {

struct Donations {
  // By output: the inputs whose memory it may be computed into, if the caller gives it away. All that read such an
  // input, or a view of it, come before the output's allocation.
  std::vector<std::vector<int32_t>> free;
  // By output: an input in exactly whose place it may be computed, or -1: what reads the input later is only the launch
  // that writes the output over it (plan::Allocate::over).
  std::vector<int32_t> over;
};
Donations FindDonations(const Plan& plan);

}  // namespace tcc
