//===- CudaDescription.h - the device that code is made for -------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// What schedules may know of a device. Where no device is at hand, the figures of the smallest product of the
/// architecture: schedules that fit it fit all.
struct CudaDescription {
  std::string arch;           ///< as NVRTC's --gpu-architecture has it, "sm_90a"; or "sim" (cuda-sim)
  int computeCapability = 80; ///< major * 10 + minor; of the simulated device for "sim"
  int multiprocessors = 108;
  int mostMultiprocessors = 108; ///< of the largest product: for blocks that stay
  int threadsPerMultiprocessor = 2048;
  int64_t registersPerMultiprocessor = 65536;
  int64_t sharedPerBlock = 48 << 10;       ///< static shared memory of a block, bytes
  int64_t sharedPerBlockOptIn = 163 << 10; ///< dynamic shared memory of a block, bytes
  int64_t sharedPerMultiprocessor = 164 << 10;
  int64_t l2Bytes = 40 << 20;

  bool isSim() const { return arch == "sim"; }
};

/// "sm_80", "sm_86", "sm_90", "sm_90a", ..., "compute_90" (PTX) and "sim". An error, which lists what there is, for
/// others.
llvm::Expected<CudaDescription> describeCuda(llvm::StringRef arch);

} // namespace tcc::codegen
