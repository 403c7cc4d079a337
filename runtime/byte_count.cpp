#include "runtime/byte_count.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace tcc {

absl::StatusOr<int64_t> ParseByteCount(std::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", absl::string_view(text.data(), text.size()),
        "' is not a number of bytes like 1000000, 500M or 20GiB (K, M, G, T; with or without B, and with i "
        "for powers of 1024)"));
  };
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return wrong();
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty() || unit == "B") return value;
  constexpr std::string_view kPrefixes = "KMGT";
  const size_t prefix = unit[0] == 'k' ? 0 : kPrefixes.find(unit[0]);
  if (prefix == std::string_view::npos) return wrong();
  unit.remove_prefix(1);
  int64_t base = 1000;
  if (!unit.empty() && unit[0] == 'i') {
    base = 1024;
    unit.remove_prefix(1);
  }
  if (!unit.empty() && unit != "B") return wrong();
  for (size_t i = 0; i <= prefix; ++i) {
    if (__builtin_mul_overflow(value, base, &value)) return wrong();
  }
  return value;
}

}  // namespace tcc
