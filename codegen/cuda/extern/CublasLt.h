//===- CublasLt.h - products that cuBLASLt can do -----------------*- C++ -*-===//
//
// A call of cuBLASLt stands beside a kernel of the same launch, as another of its binaries: a device on which the
// library is found takes the call, others the kernel. So a package runs anywhere, and everything that knows launches
// knows calls.
//
// | condition  |                                                                                                   |
// |------------|---------------------------------------------------------------------------------------------------|
// | op         | matmul with all extents known, of float16, bfloat16, float32 or float64                           |
// | operands   | plain reads with neighbours along a row or a column: transposes, batches and broadcasts are fine  |
// | result     | one, row-major along n                                                                            |
// | epilogue   | nothing, or a bias of the same type along n, or max(x, 0), or both in this order                  |
//
// GELU of cuBLASLt is the approximation by tanh, after a bias: kernels with it are not taken.
// Nothing takes a call by itself: max-autotune measures it as a candidate. As long as no GPU has been at hand, no rule
// says where it is better.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "codegen/cuda/gemm/Schedule.h"
#include "runtime/devices/extern/gemm_descriptor.h"

namespace tcc::codegen::cuda {

/// Of ChoiceKind::Library.
inline constexpr int64_t kLibraryCublasLt = 1;

/// The call that does what the product and its epilogue do, with numbers of buffers as parameters; nothing where the
/// conditions do not hold.
std::optional<devices::GemmDescriptor> libraryCall(const KernelBuilder &builder, const Product &product);

/// The same where the kernel's choice is the library. Notes in the builder whether it could be.
std::optional<devices::GemmDescriptor> measuredLibrary(KernelBuilder &builder, const Product &product);

} // namespace tcc::codegen::cuda
