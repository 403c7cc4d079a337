#include "runtime/devices/extern/gemm_descriptor.h"

#include <limits>
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

// Whether matrices of results lie in each other: neither one behind the other, nor row by row. (In floating point, for
// products of what has been checked are at most 2^80.)
bool Overlaps(const GemmDescriptor& d) {
  if (d.batch == 1) return false;
  const auto span = [](int64_t count, int64_t stride, int64_t inner) {
    return static_cast<double>(count - 1) * static_cast<double>(stride) + static_cast<double>(inner);
  };
  const int64_t stride = d.c.batch_stride;
  const bool behind = static_cast<double>(stride) >= span(d.m, d.c.pitch, d.n);
  const bool between = stride >= d.n && static_cast<double>(d.c.pitch) >= span(d.batch, stride, d.n);
  return !behind && !between;
}

}  // namespace

std::string ToBytes(const GemmDescriptor& d) {
  Json json = ToJson("gemm", d);
  json.update({{"batch", d.batch},
               {"m", d.m},
               {"n", d.n},
               {"k", d.k},
               {"a", ToJson(d.a)},
               {"b", ToJson(d.b)},
               {"c", ToJson(d.c)}});
  if (d.addend.parameter >= 0) json["addend"] = ToJson(d.addend);
  return DescriptorBytes(json);
}

absl::StatusOr<GemmDescriptor> GemmDescriptorFrom(std::string_view bytes) {
  TCC_ASSIGN_OR_RETURN(const Json json, DescriptorJson(bytes));
  try {
    GemmDescriptor d;
    bool right = Read(json, "gemm", &d);
    for (const auto& [name, value] : {std::pair{"batch", &d.batch}, {"m", &d.m}, {"n", &d.n}, {"k", &d.k}}) {
      *value = json.at(name).get<int64_t>();
      right &= InRange(*value, 1);
    }
    right &= Read(json.at("a"), d.m, d.k, &d.a) && Read(json.at("b"), d.k, d.n, &d.b) &&
             Read(json.at("c"), d.m, d.n, &d.c) && !d.c.transposed;
    if (json.contains("addend")) right &= Read(json.at("addend"), d.m, d.n, &d.addend) && !d.addend.transposed;
    // cuBLASLt counts matrices in 32 bits, and results lie in places of their own.
    right &= d.batch <= std::numeric_limits<int32_t>::max();
    right = right && !Overlaps(d);
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
