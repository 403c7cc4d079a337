// A matrix product that cuBLASLt can do in place of a generated kernel, as a package stores it beside the kernel's
// binaries ("cublaslt").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/devices/extern/call_descriptor.h"

namespace tcc::devices {

// c[g, m, n] = epilogue(sum over k of a[g, m, k] * b[g, k, n] + addend[g, m, n] + bias[n]); all of one type: f16, bf16,
// f32, f64.
struct GemmDescriptor : CallDescriptor {
  // A parameter of the launch: element (g, row, column) lies at start + g * batch_stride + row * pitch + column, or,
  // transposed, at column * pitch + row.
  struct Matrix {
    int32_t parameter = -1;
    bool transposed = false;
    int64_t start = 0, pitch = 0, batch_stride = 0;
    bool operator==(const Matrix&) const = default;
  };
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a, b, c;  // c is not transposed
  Matrix addend;   // nor is this; no parameter: none
  bool operator==(const GemmDescriptor&) const = default;
};

std::string ToBytes(const GemmDescriptor& descriptor);
// InvalidArgument for what is none, or says what no product has.
absl::StatusOr<GemmDescriptor> GemmDescriptorFrom(std::string_view bytes);
std::vector<UsedParameter> ParametersOf(GemmDescriptor& descriptor);

}  // namespace tcc::devices
