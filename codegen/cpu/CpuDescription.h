//===- CpuDescription.h - the processor that code is made for -----*- C++ -*-===//
//
// Schedules read vector width, registers and cache sizes here; the backend reads the name and the features.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

struct CpuDescription {
  std::string name;     ///< as LLVM knows it: "znver5", "x86-64-v3"
  std::string features; ///< LLVM's feature string, "+avx2,-avx512f,..."; empty: what the name implies
  /// The features, of those that generated code may use, that this processor has: recorded in packages, which are
  /// refused on a machine that lacks one. Names as in /proc/cpuinfo and LLVM: "avx2", "fma", "f16c", "avx512f", ...
  std::vector<std::string> required;
  int64_t vectorBits = 256; ///< of the vector registers worth using
  int64_t numVectorRegisters = 16;
  int64_t l1Bytes = 32 << 10; ///< data, per core
  int64_t l2Bytes = 512 << 10;
  int64_t l3Bytes = 8 << 20; ///< shared
  bool hasAvx512Bf16 = false;
  bool hasAvx512Vnni = false;

  bool has(llvm::StringRef feature) const;
  int64_t lanes(int64_t elementBits) const { return vectorBits / elementBits; }
};

/// The processor of this machine, or the one called `name` ("x86-64-v3", "x86-64-v4", "znver5", ...; "" and "host" mean
/// this machine). An error for a name that LLVM does not know, and for processors without AVX2, FMA and F16C.
llvm::Expected<CpuDescription> describeCpu(llvm::StringRef name);

} // namespace tcc::codegen
