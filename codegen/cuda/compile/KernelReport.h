//===- KernelReport.h - what compiled kernels are made of ----------*- C++ -*-===//
//
// Static proof, without a GPU: what a kernel takes of a multiprocessor, how many of its blocks fit on one, and which
// instructions the assembler chose.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

inline constexpr int kThreadsPerWarp = 32;

/// Limits of a multiprocessor: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and the
/// granularities of cuda_occupancy.h.
struct MultiprocessorLimits {
  int computeCapability;
  int warps, blocks;
  int64_t sharedBytes;         // of a multiprocessor
  int64_t sharedBytesPerBlock; // of a block that asks for more than 48 KiB
  int registers = 65536;
  int registersPerThread = 255;
  int64_t sharedReserved = 1024; // of each block, for the system
  int threads() const { return warps * kThreadsPerWarp; }
};

/// Of sm_80 to sm_121. For ones that are not in the table, those of the next older one of the same generation; null for
/// others.
const MultiprocessorLimits *limitsOf(int computeCapability);

struct Occupancy {
  int blocks = 0; // of one multiprocessor at a time; 0: the kernel cannot be launched
  int warps = 0;  // of those blocks
  int maxWarps = 0;
  std::string limiter; // what there is too little of: "registers", "shared memory", "warps", "blocks"
  double fraction() const { return maxWarps == 0 ? 0 : static_cast<double>(warps) / maxWarps; }
};

/// How many blocks of so many threads fit on a multiprocessor. `dynamicShared`: bytes that the launch adds.
Occupancy occupancyOf(const MultiprocessorLimits &limits, const KernelResources &resources, int threadsPerBlock,
                      int64_t dynamicShared = 0);

/// Instructions of a kernel by the names of SASS without modifiers ("HMMA", "LDGSTS", "FFMA"), and some with the
/// modifiers that matter: "LDG.128", "STG.128", "LDS.128", "STS.128", "LDL" and "STL" (spills and local arrays).
struct SassCounts {
  std::map<std::string, int> instructions;
  int total = 0;
  int count(llvm::StringRef name) const;
  /// Inside of loops: between the target of a backward branch and that branch.
  std::map<std::string, int> inLoops;
  int countInLoops(llvm::StringRef name) const;
};

/// Of a listing of nvdisasm.
SassCounts countSass(llvm::StringRef listing);

/// The SASS of a cubin by nvdisasm, which CudaFiles.h finds. Errors: no nvdisasm, or one that does not know the
/// architecture.
llvm::Expected<std::string> disassemble(llvm::StringRef cubin, llvm::StringRef nvrtc = "");

struct KernelReport {
  std::string symbol, arch;
  KernelResources resources;
  int threadsPerBlock = 0;
  std::optional<Occupancy> occupancy;
  std::optional<SassCounts> sass;
};

/// Of a compiled kernel. `threadsPerBlock`: as launched; 0: its __launch_bounds__. Without nvdisasm the report has no
/// SASS. Errors: not a cubin, which has these figures.
llvm::Expected<KernelReport> reportKernel(const KernelBinary &binary, int threadsPerBlock = 0,
                                          int64_t dynamicShared = 0, bool withSass = true);

/// A table for people, a line for each kernel.
std::string formatReports(llvm::ArrayRef<KernelReport> reports);

} // namespace tcc::codegen
