#include "runtime/devices/extern/descriptor_json.h"

#include "absl/strings/str_cat.h"

namespace tcc::devices {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFirstLine = "tcc-library-call 1\n";

// kInvalid for types that no library multiplies.
DType ElementOf(std::string_view name) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    if (name == std::string_view(DTypeName(dtype))) return dtype;
  }
  return DType::kInvalid;
}

}  // namespace

Json ToJson(std::string_view what, const CallDescriptor& d) {
  return {{"do", what},
          {"element", DTypeName(d.element)},
          {"tf32", d.tf32},
          {"bias", d.bias},
          {"relu", d.relu},
          {"workspace", d.workspace},
          {"workspace_bytes", d.workspace_bytes}};
}

bool Read(const Json& json, std::string_view what, CallDescriptor* d) {
  if (json.at("do") != what) return false;
  d->element = ElementOf(json.at("element").get<std::string>());
  d->tf32 = json.at("tf32").get<bool>();
  d->bias = json.at("bias").get<int32_t>();
  d->relu = json.at("relu").get<bool>();
  d->workspace = json.at("workspace").get<int32_t>();
  d->workspace_bytes = json.at("workspace_bytes").get<int64_t>();
  return d->element != DType::kInvalid && (!d->tf32 || d->element == DType::kF32) &&
         IsParameter(d->bias, /*may_lack=*/true) && IsParameter(d->workspace, /*may_lack=*/true) &&
         InRange(d->workspace_bytes, 0, d->workspace < 0 ? 0 : kMostWorkspace);
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
