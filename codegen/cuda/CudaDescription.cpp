//===- CudaDescription.cpp - the device that code is made for -------------===//
#include "codegen/cuda/CudaDescription.h"

#include "codegen/cuda/compile/KernelReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tcc::codegen {
namespace {

/// Of the products with an architecture: multiprocessors of the smallest and the largest one, the smallest one's cache.
/// Limits of a multiprocessor are limitsOf's.
struct Architecture {
  llvm::StringLiteral name;
  int multiprocessors, mostMultiprocessors;
  int64_t l2Mib;
};

constexpr Architecture kArchitectures[] = {
    {"sm_80", 108, 108, 40},   {"sm_86", 28, 84, 3},       {"sm_87", 8, 16, 4},       {"sm_89", 24, 142, 24},
    {"sm_90", 114, 132, 50},   {"sm_90a", 114, 132, 50},   {"sm_100", 142, 148, 100}, {"sm_100a", 142, 148, 100},
    {"sm_103", 142, 160, 100}, {"sm_103a", 142, 160, 100}, {"sm_110", 20, 20, 32},    {"sm_110a", 20, 20, 32},
    {"sm_120", 36, 188, 32},   {"sm_120a", 36, 188, 32},   {"sm_121", 48, 48, 24},    {"sm_121a", 48, 48, 24},
    {"sim", 8, 8, 50},
};

} // namespace

llvm::Expected<CudaDescription> describeCuda(llvm::StringRef arch) {
  // PTX for GPUs of that architecture and newer ones.
  std::string name = arch.starts_with("compute_") ? "sm_" + arch.substr(8).str() : arch.str();
  for (const Architecture &known : kArchitectures) {
    if (known.name != name)
      continue;
    // (The simulated device is like one of 9.0.)
    const int capability = known.name == "sim" ? 90 : computeCapabilityOf(name);
    const MultiprocessorLimits &limits = *limitsOf(capability);
    return CudaDescription{.arch = arch.str(),
                           .computeCapability = capability,
                           .multiprocessors = known.multiprocessors,
                           .mostMultiprocessors = known.mostMultiprocessors,
                           .threadsPerMultiprocessor = limits.threads(),
                           .registersPerMultiprocessor = limits.registers,
                           .sharedPerBlockOptIn = limits.sharedBytesPerBlock,
                           .sharedPerMultiprocessor = limits.sharedBytes,
                           .l2Bytes = known.l2Mib << 20};
  }
  auto names = llvm::map_range(kArchitectures, [](const Architecture &known) { return known.name.str(); });
  return llvm::createStringError("no CUDA architecture is called \"" + arch + "\"; there are " +
                                 llvm::join(names, ", "));
}

} // namespace tcc::codegen
