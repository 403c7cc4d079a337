#include "runtime/attributes.h"

#include "runtime/status.h"

namespace tcc {
namespace {

template <typename T>
absl::StatusOr<T> Get(const std::map<std::string, AttributeValue>& values, const std::string& name, const char* kind) {
  const auto it = values.find(name);
  if (it == values.end()) return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is missing"));
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is not ", kind));
}

template <typename T>
T GetOr(const std::map<std::string, AttributeValue>& values, const std::string& name, T fallback) {
  const auto it = values.find(name);
  if (it == values.end()) return fallback;
  const T* value = std::get_if<T>(&it->second);
  return value ? *value : fallback;
}

}  // namespace

absl::StatusOr<int64_t> Attributes::Int(const std::string& name) const {
  return Get<int64_t>(values_, name, "an integer");
}
absl::StatusOr<double> Attributes::Float(const std::string& name) const {
  return Get<double>(values_, name, "a number");
}
absl::StatusOr<std::string> Attributes::String(const std::string& name) const {
  return Get<std::string>(values_, name, "a string");
}
absl::StatusOr<std::vector<int64_t>> Attributes::Ints(const std::string& name) const {
  return Get<std::vector<int64_t>>(values_, name, "a list of integers");
}
absl::StatusOr<std::vector<double>> Attributes::Floats(const std::string& name) const {
  return Get<std::vector<double>>(values_, name, "a list of numbers");
}

int64_t Attributes::IntOr(const std::string& name, int64_t fallback) const { return GetOr(values_, name, fallback); }
double Attributes::FloatOr(const std::string& name, double fallback) const { return GetOr(values_, name, fallback); }
std::string Attributes::StringOr(const std::string& name, std::string fallback) const {
  return GetOr(values_, name, std::move(fallback));
}
std::vector<int64_t> Attributes::IntsOr(const std::string& name, std::vector<int64_t> fallback) const {
  return GetOr(values_, name, std::move(fallback));
}
std::vector<double> Attributes::FloatsOr(const std::string& name, std::vector<double> fallback) const {
  return GetOr(values_, name, std::move(fallback));
}

}  // namespace tcc
