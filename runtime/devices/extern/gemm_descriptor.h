// A matrix product that cuBLASLt can do in place of a generated kernel, as a package stores it beside the kernel's
// binaries ("cublaslt").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/dtype.h"

namespace tcc::devices {

// What a kernel's binaries call it.
inline constexpr std::string_view kCublasLt = "cublaslt";

// c[g, m, n] = epilogue(sum over k of a[g, m, k] * b[g, k, n] + addend[g, m, n] + bias[n]); all of one type.
struct GemmDescriptor {
  // A parameter of the launch: element (g, row, column) lies at start + g * batch_stride + row * pitch + column, or,
  // transposed, at column * pitch + row.
  struct Matrix {
    int32_t parameter = -1;
    bool transposed = false;
    int64_t start = 0, pitch = 0, batch_stride = 0;
    bool operator==(const Matrix&) const = default;
  };
  DType element = DType::kInvalid;  // f16, bf16, f32, f64
  bool tf32 = false;                // float32 may be rounded to tf32 before it is multiplied
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a, b, c;     // c is not transposed
  Matrix addend;      // nor is this; no parameter: none
  int32_t bias = -1;  // the parameter; -1: none
  bool relu = false;
  // The parameter of memory that the call may use as it likes, and its bytes; -1: none.
  int32_t workspace = -1;
  int64_t workspace_bytes = 0;
  bool operator==(const GemmDescriptor&) const = default;
};

std::string ToBytes(const GemmDescriptor& descriptor);
// InvalidArgument for what is none, or says what no product has.
absl::StatusOr<GemmDescriptor> GemmDescriptorFrom(std::string_view bytes);
// What is given, for whoever numbers parameters anew, or looks whether memory suffices: the parameter, -1 for what
// there is not, and the bytes that are used of it.
struct UsedParameter {
  int32_t* parameter;
  int64_t bytes;
};
std::vector<UsedParameter> ParametersOf(GemmDescriptor& descriptor);

}  // namespace tcc::devices
