// What products and convolutions by a library have in common.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/dtype.h"

namespace tcc::devices {

// What a kernel's binaries call products and convolutions by a library.
inline constexpr std::string_view kCublasLt = "cublaslt";
inline constexpr std::string_view kCudnn = "cudnn";
inline constexpr std::array<std::string_view, 2> kLibraries = {kCublasLt, kCudnn};

// The epilogue is max(sum + addend + bias, 0), as far as it has these.
struct CallDescriptor {
  DType element = DType::kInvalid;  // of all operands
  bool tf32 = false;                // float32 may be rounded to tf32 before it is multiplied
  int32_t bias = -1;                // the parameter; -1: none
  bool relu = false;
  // The parameter of memory that the call may use as it likes, and its bytes; -1: none.
  int32_t workspace = -1;
  int64_t workspace_bytes = 0;
  bool operator==(const CallDescriptor&) const = default;
};

// What is given, for whoever numbers parameters anew, or looks whether memory suffices: the parameter, -1 for what
// there is not, and the bytes that are used of it.
struct UsedParameter {
  int32_t* parameter;
  int64_t bytes;
};

}  // namespace tcc::devices
