#include "runtime/devices/extern/gemm_descriptor.h"

#include "nlohmann/json.hpp"

namespace tcc::devices {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFirstLine = "tcc-library-call 1\n";
constexpr int64_t kMostExtent = int64_t{1} << 40;
constexpr int32_t kMostParameters = 1024;

Json ToJson(const GemmDescriptor::Matrix& matrix) {
  return {{"parameter", matrix.parameter},
          {"transposed", matrix.transposed},
          {"start", matrix.start},
          {"pitch", matrix.pitch},
          {"batch_stride", matrix.batch_stride}};
}

bool Read(const Json& json, int64_t rows, int64_t columns, GemmDescriptor::Matrix* matrix) {
  matrix->parameter = json.at("parameter").get<int32_t>();
  matrix->transposed = json.at("transposed").get<bool>();
  matrix->start = json.at("start").get<int64_t>();
  matrix->pitch = json.at("pitch").get<int64_t>();
  matrix->batch_stride = json.at("batch_stride").get<int64_t>();
  const auto in = [](int64_t value, int64_t least) { return value >= least && value <= kMostExtent; };
  return matrix->parameter >= 0 && matrix->parameter < kMostParameters && in(matrix->start, 0) &&
         in(matrix->pitch, matrix->transposed ? rows : columns) && in(matrix->batch_stride, 0);
}

}  // namespace

std::string ToBytes(const GemmDescriptor& d) {
  const Json json = {{"do", "gemm"},     {"element", DTypeName(d.element)},
                     {"batch", d.batch}, {"m", d.m},
                     {"n", d.n},         {"k", d.k},
                     {"a", ToJson(d.a)}, {"b", ToJson(d.b)},
                     {"c", ToJson(d.c)}, {"bias", d.bias},
                     {"relu", d.relu}};
  return std::string(kFirstLine) + json.dump();
}

bool IsGemmDescriptor(std::string_view bytes) { return bytes.substr(0, kFirstLine.size()) == kFirstLine; }

absl::StatusOr<GemmDescriptor> GemmDescriptorFrom(std::string_view bytes) {
  const auto wrong = [] { return absl::InvalidArgumentError("a library call that is damaged, or of a newer tcc"); };
  if (!IsGemmDescriptor(bytes)) return wrong();
  bytes.remove_prefix(kFirstLine.size());
  try {
    const Json json = Json::parse(bytes);
    GemmDescriptor d;
    if (json.at("do") != "gemm") return wrong();
    const auto element = json.at("element").get<std::string>();
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      if (element == DTypeName(dtype)) d.element = dtype;
    }
    bool right = d.element != DType::kInvalid;
    for (const auto& [name, value] : {std::pair{"batch", &d.batch}, {"m", &d.m}, {"n", &d.n}, {"k", &d.k}}) {
      *value = json.at(name).get<int64_t>();
      right &= *value >= 1 && *value <= kMostExtent;
    }
    right &= Read(json.at("a"), d.m, d.k, &d.a) && Read(json.at("b"), d.k, d.n, &d.b) &&
             Read(json.at("c"), d.m, d.n, &d.c) && !d.c.transposed;
    d.bias = json.at("bias").get<int32_t>();
    d.relu = json.at("relu").get<bool>();
    right &= d.bias >= -1 && d.bias < kMostParameters;
    if (!right) return wrong();
    return d;
  } catch (const Json::exception&) {
    return wrong();
  }
}

}  // namespace tcc::devices
