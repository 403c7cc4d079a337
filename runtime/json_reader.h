// Reading JSON that nobody vouches for: the first thing wrong is remembered with its place, and every accessor after it
// returns an empty value, so that callers check once at the end. Internal to runtime/.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/dtype.h"

namespace tcc {

class JsonReader {
 public:
  using Json = nlohmann::json;

  bool ok() const { return error_.empty(); }
  // InvalidArgument: "plan: body[3].dims: expected a list".
  absl::Status status(absl::string_view what) const {
    return ok() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(what, ": ", error_));
  }
  void Fail(absl::string_view message) {
    if (ok()) error_ = path_.empty() ? std::string(message) : absl::StrCat(path_, ": ", message);
  }

  // Adds to the place that messages name while in scope.
  class Scope {
   public:
    Scope(JsonReader& reader, absl::string_view name) : reader_(reader), size_(reader.path_.size()) {
      absl::StrAppend(&reader.path_, reader.path_.empty() ? "" : ".", name);
    }
    Scope(JsonReader& reader, size_t index) : reader_(reader), size_(reader.path_.size()) {
      absl::StrAppend(&reader.path_, "[", index, "]");
    }
    ~Scope() { reader_.path_.resize(size_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    JsonReader& reader_;
    size_t size_;
  };

  // A field of an object; null with an error where it is missing.
  const Json& Field(const Json& object, const char* name) {
    static const Json kNull;
    if (!object.is_object()) {
      Fail("expected an object");
      return kNull;
    }
    const auto it = object.find(name);
    if (it == object.end()) {
      Fail(absl::StrCat("'", name, "' is missing"));
      return kNull;
    }
    return *it;
  }
  static bool Has(const Json& object, const char* name) { return object.is_object() && object.contains(name); }

  int64_t AsInt(const Json& value, int64_t min = std::numeric_limits<int64_t>::min(),
                int64_t max = std::numeric_limits<int64_t>::max()) {
    const bool fits =
        value.is_number_integer() &&
        !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
    if (!fits) {
      Fail("expected an integer");
      return 0;
    }
    const auto number = value.get<int64_t>();
    if (number < min || number > max) {
      Fail(absl::StrCat(number, " is not from ", min, " to ", max));
      return 0;
    }
    return number;
  }
  std::string AsString(const Json& value) {
    if (!value.is_string()) {
      Fail("expected a string");
      return {};
    }
    return value.get<std::string>();
  }
  bool AsBool(const Json& value) {
    if (!value.is_boolean()) {
      Fail("expected true or false");
      return false;
    }
    return value.get<bool>();
  }
  // Not-a-number and the infinities are strings: JSON has no numbers for them.
  double AsDouble(const Json& value) {
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    Fail("expected a number");
    return 0;
  }
  DType AsDType(const Json& value) {
    const std::string name = AsString(value);
    if (!ok()) return DType::kInvalid;
    const auto dtype = ParseDType(name);
    if (!dtype) Fail(absl::StrCat("unknown dtype '", name, "'"));
    return dtype.value_or(DType::kInvalid);
  }

  int64_t Int(const Json& object, const char* name, int64_t min = std::numeric_limits<int64_t>::min(),
              int64_t max = std::numeric_limits<int64_t>::max()) {
    const Scope scope(*this, name);
    return AsInt(Field(object, name), min, max);
  }
  std::string String(const Json& object, const char* name) {
    const Scope scope(*this, name);
    return AsString(Field(object, name));
  }
  bool Bool(const Json& object, const char* name) {
    const Scope scope(*this, name);
    return AsBool(Field(object, name));
  }
  DType Type(const Json& object, const char* name) {
    const Scope scope(*this, name);
    return AsDType(Field(object, name));
  }

  // Calls element(json) for each element of a list and collects the results.
  template <typename F>
  auto AsList(const Json& value, F element) {
    std::vector<decltype(element(value))> list;
    if (!value.is_array()) {
      Fail("expected a list");
      return list;
    }
    list.reserve(value.size());
    for (size_t i = 0; i < value.size() && ok(); ++i) {
      const Scope scope(*this, i);
      list.push_back(element(value[i]));
    }
    return list;
  }
  template <typename F>
  auto List(const Json& object, const char* name, F element) {
    const Scope scope(*this, name);
    return AsList(Field(object, name), element);
  }
  std::vector<int64_t> Ints(const Json& object, const char* name) {
    return List(object, name, [this](const Json& value) { return AsInt(value); });
  }
  std::vector<std::string> Strings(const Json& object, const char* name) {
    return List(object, name, [this](const Json& value) { return AsString(value); });
  }

 private:
  std::string path_;
  std::string error_;
};

}  // namespace tcc
