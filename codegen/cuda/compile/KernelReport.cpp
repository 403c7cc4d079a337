//===- KernelReport.cpp ----------------------------------------------------===//
#include "codegen/cuda/compile/KernelReport.h"

#include <algorithm>

#include "codegen/cuda/compile/Cubin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc::codegen {
namespace {

/// What a reader looks for: matrix instructions, asynchronous copies, wide accesses, spills.
constexpr const char *kShown[] = {"HMMA",    "IMMA",    "DMMA",    "QMMA",    "OMMA",    "HGMMA",   "IGMMA",
                                  "QGMMA",   "UTCHMMA", "UTCIMMA", "UTCQMMA", "LDSM",    "STSM",    "LDGSTS",
                                  "UTMALDG", "UTMASTG", "LDG.128", "LDG.256", "STG.128", "STG.256", "LDS.128",
                                  "STS.128", "SHFL",    "ATOMG",   "RED",     "LDL",     "STL"};

} // namespace

llvm::Expected<KernelReport> reportKernel(const KernelBinary &binary, int threadsPerBlock, int64_t dynamicShared,
                                          bool withSass) {
  KernelReport report;
  report.symbol = binary.symbol;
  report.arch = binary.arch;
  std::optional<KernelResources> resources = binary.resources;
  if (!resources)
    resources = readCubin(binary.bytes, binary.symbol);
  if (!resources)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "kernel '%s' for %s is no cubin: registers and instructions are known of those",
                                   binary.symbol.c_str(), binary.arch.c_str());
  report.resources = *resources;
  report.threadsPerBlock = threadsPerBlock > 0 ? threadsPerBlock : resources->maxThreads;
  const MultiprocessorLimits *limits = limitsOf(computeCapabilityOf(binary.arch));
  if (limits != nullptr && report.threadsPerBlock > 0)
    report.occupancy = occupancyOf(*limits, report.resources, report.threadsPerBlock, dynamicShared);
  if (withSass) {
    llvm::Expected<std::string> listing = disassemble(binary.bytes);
    if (listing)
      report.sass = countSass(*listing);
    else
      llvm::consumeError(listing.takeError());
  }
  return report;
}

std::string formatReports(llvm::ArrayRef<KernelReport> reports) {
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t width = 6;
  for (const KernelReport &report : reports)
    width = std::max(width, report.symbol.size());
  os << llvm::left_justify("kernel", width)
     << "  arch       threads  regs  spills  shared  blocks/SM  occupancy        "
     << "instructions\n";
  for (const KernelReport &report : reports) {
    const KernelResources &resources = report.resources;
    os << llvm::left_justify(report.symbol, width) << "  " << llvm::left_justify(report.arch, 9)
       << llvm::format("  %7d  %4d  %6lld  %6lld", report.threadsPerBlock, resources.registers,
                       static_cast<long long>(resources.spillStores + resources.spillLoads),
                       static_cast<long long>(resources.sharedBytes));
    if (report.occupancy) {
      std::string limiter = "(" + report.occupancy->limiter + ")";
      os << llvm::format("  %9d  %3.0f%% %-15s", report.occupancy->blocks, 100 * report.occupancy->fraction(),
                         limiter.c_str());
    } else {
      os << "          ?     ?                ";
    }
    if (report.sass) {
      os << "  " << report.sass->total;
      for (const char *name : kShown)
        if (int count = report.sass->count(name); count != 0) {
          os << ", " << count << ' ' << name;
          if (int inLoops = report.sass->countInLoops(name); inLoops != 0)
            os << " (" << inLoops << " in loops)";
        }
    } else {
      os << "  (no nvdisasm)";
    }
    os << '\n';
  }
  return text;
}

} // namespace tcc::codegen
