// The device memory that kernels may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tcc::sim {

struct MemoryRange {
  uintptr_t begin, end;
};

// The registered memory, by address. A copy: what is registered later is not in it.
std::vector<MemoryRange> RegisteredMemory();

}  // namespace tcc::sim
