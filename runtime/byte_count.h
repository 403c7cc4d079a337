// Amounts of memory as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace tcc {

// "1000000", "5M", "5MB" (powers of 1000: K, M, G, T), "1GiB", "1Gi" (powers of 1024). InvalidArgument for anything
// else, also what is negative or beyond int64.
absl::StatusOr<int64_t> ParseByteCount(std::string_view text);

}  // namespace tcc
