#include "runtime/devices/sim/memory.h"

#include <algorithm>
#include <map>
#include <mutex>

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

std::vector<MemoryRange> Disjoint(std::vector<MemoryRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
  std::vector<MemoryRange> disjoint;
  for (const MemoryRange& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!disjoint.empty() && range.begin < disjoint.back().end) {
      disjoint.back().end = std::max(disjoint.back().end, range.end);
    } else {
      disjoint.push_back(range);
    }
  }
  return disjoint;
}

}  // namespace tcc::sim
