#include "runtime/devices/sim/memory.h"

#include <map>
#include <mutex>

#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ranges;  // begin, end
};
Registry& TheRegistry() {
  static auto& registry = *new Registry();
  return registry;
}

}  // namespace

void RegisterMemory(const void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const std::lock_guard lock(TheRegistry().mutex);
  TheRegistry().ranges[begin] = begin + bytes;
}

void UnregisterMemory(const void* memory) {
  const std::lock_guard lock(TheRegistry().mutex);
  TheRegistry().ranges.erase(reinterpret_cast<uintptr_t>(memory));
}

std::vector<MemoryRange> RegisteredMemory() {
  const std::lock_guard lock(TheRegistry().mutex);
  std::vector<MemoryRange> ranges;
  ranges.reserve(TheRegistry().ranges.size());
  for (const auto& [begin, end] : TheRegistry().ranges) ranges.push_back({begin, end});
  return ranges;
}

}  // namespace tcc::sim
