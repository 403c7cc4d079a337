//===- Resources.cpp - what kernels take of a GPU --------------------------===//
#include "compiler/pipeline/Resources.h"

#include <algorithm>

#include "codegen/cuda/compile/KernelReport.h"

namespace tcc::compiler {

std::vector<ResourceRecord> resourcesOf(const codegen::PlanResult &result) {
  std::vector<ResourceRecord> records;
  for (const codegen::ImageResources &image : result.resources) {
    ResourceRecord &record = records.emplace_back(
        ResourceRecord{image.symbol, image.arch, image.registers, image.spillBytes, image.sharedBytes, 0});
    const codegen::MultiprocessorLimits *limits = codegen::limitsOf(codegen::computeCapabilityOf(image.arch));
    if (!limits)
      continue;
    codegen::KernelResources resources;
    resources.registers = image.registers;
    resources.sharedBytes = image.sharedBytes;
    for (const codegen::ExplainRecord &kernel : result.explain) {
      for (const codegen::LaunchRecord &launch : kernel.deviceLaunches) {
        if (launch.symbol != image.symbol || !launch.sharedBytes)
          continue;
        double occupancy = codegen::occupancyOf(*limits, resources, launch.threads, *launch.sharedBytes).fraction();
        record.occupancy = record.occupancy == 0 ? occupancy : std::min(record.occupancy, occupancy);
      }
    }
  }
  std::sort(records.begin(), records.end(), [](const ResourceRecord &a, const ResourceRecord &b) {
    return std::tie(a.arch, a.symbol) < std::tie(b.arch, b.symbol);
  });
  return records;
}

} // namespace tcc::compiler
