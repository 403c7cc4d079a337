#include "runtime/devices/extern/gemm_descriptor.h"

#include <utility>

#include "runtime/devices/extern/descriptor_json.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using Json = nlohmann::json;
using Matrix = GemmDescriptor::Matrix;

Json ToJson(const Matrix& matrix) {
  return {{"parameter", matrix.parameter},
          {"transposed", matrix.transposed},
          {"start", matrix.start},
          {"pitch", matrix.pitch},
          {"batch_stride", matrix.batch_stride}};
}

bool Read(const Json& json, int64_t rows, int64_t columns, Matrix* matrix) {
  matrix->parameter = json.at("parameter").get<int32_t>();
  matrix->transposed = json.at("transposed").get<bool>();
  matrix->start = json.at("start").get<int64_t>();
  matrix->pitch = json.at("pitch").get<int64_t>();
  matrix->batch_stride = json.at("batch_stride").get<int64_t>();
  return IsParameter(matrix->parameter) && InRange(matrix->start, 0) &&
         InRange(matrix->pitch, matrix->transposed ? rows : columns) && InRange(matrix->batch_stride, 0);
}

}  // namespace

std::string ToBytes(const GemmDescriptor& d) {
  Json json = {{"do", "gemm"},
               {"element", DTypeName(d.element)},
               {"tf32", d.tf32},
               {"batch", d.batch},
               {"m", d.m},
               {"n", d.n},
               {"k", d.k},
               {"a", ToJson(d.a)},
               {"b", ToJson(d.b)},
               {"c", ToJson(d.c)},
               {"bias", d.bias},
               {"relu", d.relu},
               {"workspace", d.workspace},
               {"workspace_bytes", d.workspace_bytes}};
  if (d.addend.parameter >= 0) json["addend"] = ToJson(d.addend);
  return DescriptorBytes(json);
}

absl::StatusOr<GemmDescriptor> GemmDescriptorFrom(std::string_view bytes) {
  TCC_ASSIGN_OR_RETURN(const Json json, DescriptorJson(bytes));
  try {
    GemmDescriptor d;
    if (json.at("do") != "gemm") return DamagedDescriptor();
    d.element = ElementOf(json.at("element").get<std::string>());
    d.tf32 = json.at("tf32").get<bool>();
    bool right = d.element != DType::kInvalid && (!d.tf32 || d.element == DType::kF32);
    for (const auto& [name, value] : {std::pair{"batch", &d.batch}, {"m", &d.m}, {"n", &d.n}, {"k", &d.k}}) {
      *value = json.at(name).get<int64_t>();
      right &= InRange(*value, 1);
    }
    right &= Read(json.at("a"), d.m, d.k, &d.a) && Read(json.at("b"), d.k, d.n, &d.b) &&
             Read(json.at("c"), d.m, d.n, &d.c) && !d.c.transposed;
    if (json.contains("addend")) right &= Read(json.at("addend"), d.m, d.n, &d.addend) && !d.addend.transposed;
    d.bias = json.at("bias").get<int32_t>();
    d.relu = json.at("relu").get<bool>();
    d.workspace = json.at("workspace").get<int32_t>();
    d.workspace_bytes = json.at("workspace_bytes").get<int64_t>();
    right &= IsParameter(d.bias, /*may_lack=*/true) && IsParameter(d.workspace, /*may_lack=*/true) &&
             InRange(d.workspace_bytes, 0, d.workspace < 0 ? 0 : kMostWorkspace);
    if (!right) return DamagedDescriptor();
    return d;
  } catch (const Json::exception&) {
    return DamagedDescriptor();
  }
}

std::vector<UsedParameter> ParametersOf(GemmDescriptor& d) {
  const int64_t bytes = DTypeBits(d.element) / 8;
  // (Sums of products that have been checked to be within reach: at most 2^80, so in floating point first.)
  const auto used = [&](const Matrix& matrix, int64_t rows, int64_t columns) {
    if (matrix.transposed) std::swap(rows, columns);
    const double estimate = static_cast<double>(d.batch - 1) * static_cast<double>(matrix.batch_stride) +
                            static_cast<double>(rows - 1) * static_cast<double>(matrix.pitch);
    if (estimate > 1e17) return INT64_MAX;
    return (matrix.start + (d.batch - 1) * matrix.batch_stride + (rows - 1) * matrix.pitch + columns) * bytes;
  };
  return {{&d.a.parameter, used(d.a, d.m, d.k)},
          {&d.b.parameter, used(d.b, d.k, d.n)},
          {&d.c.parameter, used(d.c, d.m, d.n)},
          {&d.addend.parameter, used(d.addend, d.m, d.n)},
          {&d.bias, d.n * bytes},
          {&d.workspace, d.workspace_bytes}};
}

}  // namespace tcc::devices
