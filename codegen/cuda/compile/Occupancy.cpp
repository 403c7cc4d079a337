//===- Occupancy.cpp -------------------------------------------------------===//
#include <algorithm>

#include "codegen/cuda/compile/KernelReport.h"

namespace tcc::codegen {
namespace {

constexpr int kSchedulers = 4;            // of a multiprocessor: each has a quarter of the registers
constexpr int kRegisterGranularity = 256; // registers are given to a warp in units of this
constexpr int64_t kSharedGranularity = 128;
constexpr int kMaxThreadsPerBlock = 1024;
constexpr int64_t kKiB = 1024;

// Capability, warps, blocks, shared memory of a multiprocessor, of a block.
constexpr MultiprocessorLimits kLimits[] = {
    {80, 64, 32, 164 * kKiB, 163 * kKiB},  {86, 48, 16, 100 * kKiB, 99 * kKiB},   {87, 48, 16, 164 * kKiB, 163 * kKiB},
    {88, 48, 16, 100 * kKiB, 99 * kKiB},   {89, 48, 24, 100 * kKiB, 99 * kKiB},   {90, 64, 32, 228 * kKiB, 227 * kKiB},
    {100, 64, 32, 228 * kKiB, 227 * kKiB}, {103, 64, 32, 228 * kKiB, 227 * kKiB}, {110, 48, 24, 228 * kKiB, 227 * kKiB},
    {120, 48, 24, 100 * kKiB, 99 * kKiB},  {121, 48, 24, 100 * kKiB, 99 * kKiB},
};

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

const MultiprocessorLimits *limitsOf(int computeCapability) {
  const MultiprocessorLimits *best = nullptr;
  for (const MultiprocessorLimits &limits : kLimits)
    if (limits.computeCapability <= computeCapability && limits.computeCapability / 10 == computeCapability / 10)
      best = &limits;
  return best;
}

Occupancy occupancyOf(const MultiprocessorLimits &limits, const KernelResources &resources, int threadsPerBlock,
                      int64_t dynamicShared) {
  Occupancy result;
  result.maxWarps = limits.warps;
  const int warps = (threadsPerBlock + kThreadsPerWarp - 1) / kThreadsPerWarp;
  if (warps <= 0 || threadsPerBlock > kMaxThreadsPerBlock) {
    result.limiter = "threads of a block";
    return result;
  }
  struct Limit {
    int64_t blocks;
    const char *name;
  };
  std::vector<Limit> all = {{limits.warps / warps, "warps"}, {limits.blocks, "blocks"}};

  const int64_t perWarp = roundUp(int64_t{std::max(resources.registers, 1)} * kThreadsPerWarp, kRegisterGranularity);
  const int64_t warpsByRegisters = limits.registers / kSchedulers / perWarp * kSchedulers;
  // A block's warps are spread evenly over the schedulers.
  const bool fits =
      perWarp * roundUp(warps, kSchedulers) <= limits.registers && resources.registers <= limits.registersPerThread;
  all.push_back({fits ? warpsByRegisters / warps : 0, "registers"});

  const int64_t wanted = resources.sharedBytes + dynamicShared;
  const int64_t shared = roundUp(wanted + limits.sharedReserved, kSharedGranularity);
  all.push_back({wanted > limits.sharedBytesPerBlock ? 0
                 : shared == 0                       ? limits.blocks
                                                     : limits.sharedBytes / shared,
                 "shared memory"});

  const Limit least =
      *std::min_element(all.begin(), all.end(), [](const Limit &a, const Limit &b) { return a.blocks < b.blocks; });
  result.blocks = static_cast<int>(least.blocks);
  result.warps = result.blocks * warps;
  result.limiter = least.name;
  return result;
}

} // namespace tcc::codegen
