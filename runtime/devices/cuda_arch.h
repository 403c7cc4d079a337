// Names of what code for GPUs is made for.
#pragma once

#include <optional>
#include <string_view>

namespace tcc::devices {

struct CudaArch {
  int compute_capability;  // 90 for 9.0
  bool is_ptx;             // "compute_90", not "sm_90"
  char suffix;             // 'a': for that very architecture; 'f': for its family; '\0'
};
// Of "sm_90a", "compute_100f", whether there is such an architecture or not; nothing for what is no such name.
std::optional<CudaArch> ParseCudaArch(std::string_view arch);

// How well code for `arch` runs on a GPU of this compute capability: see ComputeDevice::Suits.
int CudaSuits(std::string_view arch, int compute_capability);

}  // namespace tcc::devices
