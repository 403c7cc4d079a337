#include "runtime/devices/cuda_arch.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace tcc::devices {
namespace {

// GPUs that share the host's memory.
bool IsIntegrated(int compute_capability) {
  constexpr std::array<int, 3> kIntegrated = {87, 88, 110};
  return std::find(kIntegrated.begin(), kIntegrated.end(), compute_capability) != kIntegrated.end();
}

}  // namespace

std::optional<CudaArch> ParseCudaArch(std::string_view arch) {
  absl::string_view rest(arch.data(), arch.size());
  CudaArch parsed = {0, absl::ConsumePrefix(&rest, "compute_"), '\0'};
  if (!parsed.is_ptx && !absl::ConsumePrefix(&rest, "sm_")) return std::nullopt;
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    parsed.suffix = rest.back();
    rest.remove_suffix(1);
  }
  // (Two digits at least, and no sign or space, which SimpleAtoi would take.)
  if (rest.size() < 2 || rest.size() > 4 || !std::all_of(rest.begin(), rest.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(rest, &parsed.compute_capability) || parsed.compute_capability == 0) {
    return std::nullopt;
  }
  return parsed;
}

int CudaSuits(std::string_view arch, int compute_capability) {
  const std::optional<CudaArch> code = ParseCudaArch(arch);
  if (!code || code->compute_capability > compute_capability) return 0;
  const int version = code->compute_capability;
  // 'a' code runs on that very architecture only, 'f' code on later ones of its family too, as does code without either
  // within its major version; PTX on everything later. Binaries of integrated GPUs run on no others, nor those of
  // others on them (CUDA C++ Programming Guide, "Binary Compatibility").
  const bool same = version == compute_capability;
  if (code->suffix == 'a' && !same) return 0;
  if (version / 10 != compute_capability / 10 && (!code->is_ptx || code->suffix == 'f')) return 0;
  if (!code->is_ptx && !same && (IsIntegrated(version) || IsIntegrated(compute_capability))) return 0;
  constexpr int kBinary = 10000, kSpecific = 5000;
  return (code->is_ptx ? 0 : kBinary) + (code->suffix == 'a' ? kSpecific : 0) + version * 2 +
         (code->suffix == 'f' ? 1 : 0);
}

}  // namespace tcc::devices
