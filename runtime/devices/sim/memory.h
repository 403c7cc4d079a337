// The device memory that kernels may access.
#pragma once

#include <vector>

#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {

// The registered memory, by address. A copy: what is registered later is not in it.
std::vector<MemoryRange> RegisteredMemory();

// By address, ranges that overlap as one. Those that only touch stay apart.
std::vector<MemoryRange> Disjoint(std::vector<MemoryRange> ranges);

}  // namespace tcc::sim
