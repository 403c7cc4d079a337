// Named compile-time parameters of an operation, as reference kernels and the plan see them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor.h"

namespace tcc {

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                    std::vector<std::string>, DType, Tensor>;

// Keys are the attribute names of the `tcc` dialect (ir/Ops*.td). bool is stored as int64 0 or 1, enums as their
// string.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> values) : values_(values) {}

  void Set(std::string name, AttributeValue value) { values_[std::move(name)] = std::move(value); }
  bool Has(const std::string& name) const { return values_.count(name) != 0; }

  // An InvalidArgument error names the attribute where it is missing or of another kind.
  absl::StatusOr<int64_t> Int(const std::string& name) const;
  absl::StatusOr<double> Float(const std::string& name) const;
  absl::StatusOr<std::string> String(const std::string& name) const;
  absl::StatusOr<std::vector<int64_t>> Ints(const std::string& name) const;
  absl::StatusOr<std::vector<double>> Floats(const std::string& name) const;

  // The same with a default for a missing attribute (or one of another kind: that is a bug of ours).
  int64_t IntOr(const std::string& name, int64_t fallback) const;
  double FloatOr(const std::string& name, double fallback) const;
  std::string StringOr(const std::string& name, std::string fallback) const;
  std::vector<int64_t> IntsOr(const std::string& name, std::vector<int64_t> fallback) const;
  std::vector<double> FloatsOr(const std::string& name, std::vector<double> fallback) const;

  const std::map<std::string, AttributeValue>& values() const { return values_; }

 private:
  std::map<std::string, AttributeValue> values_;
};

}  // namespace tcc
