// Kernels of a package that have no code for the device at hand: what is asked of the compile half, and its answer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace tcc {

struct ImageRequest {
  struct Kernel {
    std::string symbol, source;
    std::vector<std::string> uses;  // for messages: what it does
  };
  std::vector<Kernel> kernels;
  std::string arch;          // of the device: "sm_90a", "sim"
  std::string kernel_cache;  // as CompileRequest has it
};

nlohmann::json ImageRequestToJson(const ImageRequest& request);
absl::StatusOr<ImageRequest> ImageRequestFromJson(const nlohmann::json& json);

// Binaries, in the order of the kernels.
nlohmann::json BinariesToJson(const std::vector<std::string>& binaries);
absl::StatusOr<std::vector<std::string>> BinariesFromJson(const nlohmann::json& json);

}  // namespace tcc
