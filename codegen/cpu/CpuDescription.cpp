//===- CpuDescription.cpp - the processor that code is made for -----------===//
#include "codegen/cpu/CpuDescription.h"

#include <mutex>
#include <unistd.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

namespace tcc::codegen {
namespace {

// What LLVM may use when told about a processor and what a package therefore depends on. Tuning flags are left out.
constexpr llvm::StringLiteral kFeatures[] = {
    "sse4.2",          "avx",        "avx2",        "fma",        "f16c",       "bmi",        "bmi2",
    "lzcnt",           "movbe",      "popcnt",      "avx512f",    "avx512bw",   "avx512dq",   "avx512vl",
    "avx512cd",        "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512vnni", "avx512bf16", "avx512bitalg",
    "avx512vpopcntdq", "avxvnni",    "avx512fp16",  "gfni"};

constexpr llvm::StringLiteral kMinimum[] = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt"};

int64_t cacheBytes(int parameter, int64_t fallback) {
  long bytes = sysconf(parameter);
  return bytes > 0 ? bytes : fallback;
}

} // namespace

bool CpuDescription::has(llvm::StringRef feature) const { return llvm::is_contained(required, feature); }

llvm::Expected<CpuDescription> describeCpu(llvm::StringRef name) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });

  CpuDescription cpu;
  bool host = name.empty() || name == "host" || name == "native";
  cpu.name = host ? llvm::sys::getHostCPUName().str() : name.str();
  if (host) {
    // A virtual machine may hide features that the processor's name implies, so each one is asked for.
    llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> flags;
    for (auto &entry : found)
      flags.push_back((entry.second ? "+" : "-") + entry.first().str());
    llvm::sort(flags);
    cpu.features = llvm::join(flags, ",");
  }

  constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    return llvm::createStringError(error);
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(cpu.name))
    return llvm::createStringError("unknown CPU '" + name +
                                   "': write cpu, cpu:x86-64-v3, cpu:x86-64-v4, or a processor as LLVM names it "
                                   "(haswell, znver3, znver5, sapphirerapids, ...)");
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, cpu.name, cpu.features));
  for (llvm::StringRef feature : kFeatures)
    if (info->checkFeatures(("+" + feature).str()))
      cpu.required.push_back(feature.str());
  for (llvm::StringRef feature : kMinimum)
    if (!cpu.has(feature))
      return llvm::createStringError("the CPU '" + cpu.name + "' lacks " + feature +
                                     ": generated code needs at least x86-64-v3 (AVX2, FMA, F16C)");

  if (cpu.has("avx512f") && cpu.has("avx512bw") && cpu.has("avx512dq") && cpu.has("avx512vl")) {
    cpu.vectorBits = 512;
    cpu.numVectorRegisters = 32;
  }
  cpu.hasAvx512Bf16 = cpu.has("avx512bf16");
  cpu.hasAvx512Vnni = cpu.has("avx512vnni");
  if (host) {
    cpu.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, cpu.l1Bytes);
    cpu.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, cpu.l2Bytes);
    cpu.l3Bytes = cacheBytes(_SC_LEVEL3_CACHE_SIZE, cpu.l3Bytes);
  }
  return cpu;
}

} // namespace tcc::codegen
