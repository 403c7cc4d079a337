// What the descriptors of library calls have in common, as a package stores them: a line that names the format, then
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/devices/extern/call_descriptor.h"

namespace tcc::devices {

inline constexpr int64_t kMostExtent = int64_t{1} << 40;
inline constexpr int32_t kMostParameters = 1024;
inline constexpr int64_t kMostWorkspace = int64_t{1} << 32;

inline bool InRange(int64_t value, int64_t least, int64_t most = kMostExtent) {
  return value >= least && value <= most;
}
inline bool IsParameter(int32_t parameter, bool may_lack = false) {
  return InRange(parameter, may_lack ? -1 : 0, kMostParameters - 1);
}
// Of what products and convolutions have in common; `what` is done.
nlohmann::json ToJson(std::string_view what, const CallDescriptor& descriptor);
// Whether that is right. Throws nlohmann's exceptions.
bool Read(const nlohmann::json& json, std::string_view what, CallDescriptor* descriptor);

std::string DescriptorBytes(const nlohmann::json& json);
// What `do` says ("gemm", "conv"); empty for bytes that are no descriptor.
std::string WhatIsDone(std::string_view bytes);
absl::Status DamagedDescriptor();
// InvalidArgument for what is none.
absl::StatusOr<nlohmann::json> DescriptorJson(std::string_view bytes);

}  // namespace tcc::devices
