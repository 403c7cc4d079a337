#include "runtime/attributes_json.h"

#include <cmath>

namespace tcc {
namespace {

using Json = nlohmann::json;

std::string ToHex(absl::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[c & 15];
  }
  return hex;
}

std::string FromHex(JsonReader& reader, const std::string& hex) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) {
    reader.Fail("hexadecimal text of odd length");
    return {};
  }
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      reader.Fail("not a hexadecimal digit");
      return {};
    }
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  return bytes;
}

// JSON text is UTF-8; other bytes are kept as hexadecimal digits.
bool IsUtf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Json FromDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json FromString(const std::string& text) { return IsUtf8(text) ? Json{{"s", text}} : Json{{"hex", ToHex(text)}}; }

std::string ToString(JsonReader& reader, const Json& json) {
  if (JsonReader::Has(json, "hex")) return FromHex(reader, reader.String(json, "hex"));
  return reader.String(json, "s");
}

Json FromTensor(const Tensor& tensor) {
  const absl::StatusOr<Tensor> flat = tensor.Contiguous();
  if (!tensor.valid() || !flat.ok()) return Json::object();  // refused when read
  Json json = {{"dtype", DTypeName(tensor.dtype())},
               {"dims", std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end())}};
  if (tensor.dtype() == DType::kString) {
    json["strings"] = Json::array();
    for (int64_t i = 0; i < flat->num_elements(); ++i)
      json["strings"].push_back(FromString(flat->data_as<std::string>()[i]));
  } else {
    json["hex"] = ToHex(absl::string_view(flat->data_as<char>(), flat->bytes()));
  }
  return json;
}

Tensor ToTensor(JsonReader& reader, const Json& json) {
  const DType dtype = reader.Type(json, "dtype");
  const std::vector<int64_t> dims = reader.Ints(json, "dims");
  if (!reader.ok()) return {};
  const absl::StatusOr<int64_t> count = NumElements(dims);
  const auto check = [&](size_t actual, size_t per_element_bits) {
    if (!count.ok()) {
      reader.Fail(count.status().message());
    } else if (*count > int64_t{1} << 40 ||
               actual != (per_element_bits == 0 ? static_cast<size_t>(*count) : DTypeBytes(dtype, *count))) {
      reader.Fail("the tensor's data does not have the length its extents say");
    }
    return reader.ok();
  };
  if (dtype == DType::kString) {
    const auto strings = reader.List(json, "strings", [&](const Json& value) { return ToString(reader, value); });
    if (!reader.ok() || !check(strings.size(), 0)) return {};
    const absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, dims);
    if (!tensor.ok()) return reader.Fail(tensor.status().message()), Tensor();
    std::copy(strings.begin(), strings.end(), tensor->data_as<std::string>());
    return *tensor;
  }
  const std::string bytes = FromHex(reader, reader.String(json, "hex"));
  if (!reader.ok() || !check(bytes.size(), 8)) return {};
  const absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, dims);
  if (!tensor.ok()) return reader.Fail(tensor.status().message()), Tensor();
  if (!bytes.empty()) std::memcpy(tensor->data(), bytes.data(), bytes.size());
  return *tensor;
}

struct ToJson {
  Json operator()(int64_t value) const { return {{"i", value}}; }
  Json operator()(double value) const { return {{"f", FromDouble(value)}}; }
  Json operator()(const std::string& value) const { return FromString(value); }
  Json operator()(const std::vector<int64_t>& values) const { return {{"is", values}}; }
  Json operator()(const std::vector<double>& values) const {
    Json list = Json::array();
    for (const double value : values) list.push_back(FromDouble(value));
    return {{"fs", list}};
  }
  Json operator()(const std::vector<std::string>& values) const {
    Json list = Json::array();
    for (const std::string& value : values) list.push_back(FromString(value));
    return {{"ss", list}};
  }
  Json operator()(DType value) const { return {{"dtype", DTypeName(value)}}; }
  Json operator()(const Tensor& value) const { return {{"tensor", FromTensor(value)}}; }
};

AttributeValue FromJson(JsonReader& reader, const Json& json) {
  if (!json.is_object() || json.size() != 1) {
    reader.Fail("expected an object with one key, the kind of the value");
    return int64_t{0};
  }
  const std::string kind = json.begin().key();
  if (kind == "i") return reader.Int(json, "i");
  if (kind == "f") return reader.AsDouble(json.begin().value());
  if (kind == "s" || kind == "hex") return ToString(reader, json);
  if (kind == "is") return reader.Ints(json, "is");
  if (kind == "fs") return reader.List(json, "fs", [&](const Json& value) { return reader.AsDouble(value); });
  if (kind == "ss") return reader.List(json, "ss", [&](const Json& value) { return ToString(reader, value); });
  if (kind == "dtype") return reader.Type(json, "dtype");
  if (kind == "tensor") return ToTensor(reader, json.begin().value());
  reader.Fail(absl::StrCat("unknown kind of attribute '", kind, "'"));
  return int64_t{0};
}

}  // namespace

Json AttributesToJson(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes.values()) json[name] = std::visit(ToJson(), value);
  return json;
}

Attributes AttributesFromJson(JsonReader& reader, const Json& json) {
  Attributes attributes;
  if (!json.is_object()) {
    reader.Fail("expected an object");
    return attributes;
  }
  for (const auto& [name, value] : json.items()) {
    const JsonReader::Scope scope(reader, name);
    attributes.Set(name, FromJson(reader, value));
  }
  return attributes;
}

}  // namespace tcc
