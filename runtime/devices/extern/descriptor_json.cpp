#include "runtime/devices/extern/descriptor_json.h"

#include "absl/strings/str_cat.h"

namespace tcc::devices {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFirstLine = "tcc-library-call 1\n";

}  // namespace

DType ElementOf(std::string_view name) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    if (name == std::string_view(DTypeName(dtype))) return dtype;
  }
  return DType::kInvalid;
}

std::string DescriptorBytes(const Json& json) { return std::string(kFirstLine) + json.dump(); }

absl::Status DamagedDescriptor() {
  return absl::InvalidArgumentError("a library call that is damaged, or of a newer tcc");
}

absl::StatusOr<Json> DescriptorJson(std::string_view bytes) {
  if (bytes.substr(0, kFirstLine.size()) != kFirstLine) return DamagedDescriptor();
  bytes.remove_prefix(kFirstLine.size());
  Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return DamagedDescriptor();
  return json;
}

std::string WhatIsDone(std::string_view bytes) {
  const absl::StatusOr<Json> json = DescriptorJson(bytes);
  if (!json.ok()) return "";
  const auto found = json->find("do");
  return found != json->end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace tcc::devices
