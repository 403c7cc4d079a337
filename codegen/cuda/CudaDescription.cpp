//===- CudaDescription.cpp - the device that code is made for -------------===//
#include "codegen/cuda/CudaDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tcc::codegen {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". The static limit is 48 KiB on all.
struct Architecture {
  llvm::StringLiteral name;
  int capability;
  int multiprocessors;
  int threads;
  int64_t optInKib, sharedKib, l2Mib;
};

constexpr Architecture kArchitectures[] = {
    {"sm_80", 80, 108, 2048, 163, 164, 40},    {"sm_86", 86, 28, 1536, 99, 100, 3},
    {"sm_87", 87, 8, 1536, 163, 164, 4},       {"sm_89", 89, 24, 1536, 99, 100, 24},
    {"sm_90", 90, 114, 2048, 227, 228, 50},    {"sm_90a", 90, 114, 2048, 227, 228, 50},
    {"sm_100", 100, 142, 2048, 227, 228, 100}, {"sm_100a", 100, 142, 2048, 227, 228, 100},
    {"sm_103", 103, 142, 2048, 227, 228, 100}, {"sm_103a", 103, 142, 2048, 227, 228, 100},
    {"sm_110", 110, 20, 1536, 227, 228, 32},   {"sm_110a", 110, 20, 1536, 227, 228, 32},
    {"sm_120", 120, 36, 1536, 99, 100, 32},    {"sm_120a", 120, 36, 1536, 99, 100, 32},
    {"sm_121", 121, 48, 1536, 99, 100, 24},    {"sm_121a", 121, 48, 1536, 99, 100, 24},
    {"sim", 90, 8, 2048, 227, 228, 50},
};

} // namespace

llvm::Expected<CudaDescription> describeCuda(llvm::StringRef arch) {
  // PTX for GPUs of that architecture and newer ones.
  std::string name = arch.starts_with("compute_") ? "sm_" + arch.substr(8).str() : arch.str();
  for (const Architecture &known : kArchitectures)
    if (known.name == name)
      return CudaDescription{.arch = arch.str(),
                             .computeCapability = known.capability,
                             .multiprocessors = known.multiprocessors,
                             .threadsPerMultiprocessor = known.threads,
                             .sharedPerBlockOptIn = known.optInKib << 10,
                             .sharedPerMultiprocessor = known.sharedKib << 10,
                             .l2Bytes = known.l2Mib << 20};
  auto names = llvm::map_range(kArchitectures, [](const Architecture &known) { return known.name.str(); });
  return llvm::createStringError("no CUDA architecture is called \"" + arch + "\"; there are " +
                                 llvm::join(names, ", "));
}

} // namespace tcc::codegen
