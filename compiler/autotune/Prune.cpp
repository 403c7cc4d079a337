//===- Prune.cpp - candidates that need not be run ------------------------===//
#include "compiler/autotune/Prune.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/compile/KernelReport.h"

namespace tcc::compiler {

std::string pruneByResources(const std::vector<LaunchFigures> &launches,
                             const std::vector<codegen::ImageResources> &resources, const std::string &arch,
                             int multiprocessors) {
  constexpr int kLeastWarps = 4;
  const codegen::MultiprocessorLimits *limits = codegen::limitsOf(codegen::computeCapabilityOf(arch));
  for (const LaunchFigures &launch : launches)
    for (const codegen::ImageResources &image : resources) {
      if (image.symbol != launch.symbol || image.arch != arch)
        continue;
      if (image.spillBytes > 0)
        return absl::StrCat("spills ", image.spillBytes, " bytes of a thread's registers");
      if (!limits)
        continue;
      codegen::KernelResources used;
      used.registers = image.registers;
      used.sharedBytes = image.sharedBytes;
      const codegen::Occupancy occupancy = codegen::occupancyOf(*limits, used, launch.threads, launch.dynamicShared);
      if (occupancy.blocks == 0)
        return absl::StrCat("cannot be launched: not enough ", occupancy.limiter);
      if (occupancy.warps < kLeastWarps && launch.blocks > int64_t{multiprocessors} * occupancy.blocks)
        return absl::StrCat(occupancy.warps, " of ", occupancy.maxWarps, " warps of a multiprocessor, for want of ",
                            occupancy.limiter);
    }
  return {};
}

} // namespace tcc::compiler
