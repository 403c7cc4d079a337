//===- CublasLt.h - products that cuBLASLt can do -----------------*- C++ -*-===//
//
// | condition  |                                                                                                   |
// |------------|---------------------------------------------------------------------------------------------------|
// | op         | matmul with all extents known, of float16, bfloat16, float32 or float64                           |
// | operands   | plain reads with neighbours along a row or a column: transposes, batches and broadcasts are fine  |
// | result     | one, row-major along n                                                                            |
// | epilogue   | see Epilogue.h: a bias along n, another matrix of the result's extents                            |
//
// GELU of cuBLASLt is the approximation by tanh, after a bias: kernels with it are not taken.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "codegen/cuda/gemm/Schedule.h"
#include "runtime/devices/extern/gemm_descriptor.h"

namespace tcc::codegen::cuda {

/// The call that does what the product and its epilogue do, with numbers of buffers as parameters; nothing where the
/// conditions do not hold.
std::optional<devices::GemmDescriptor> cublasLtCall(const KernelBuilder &builder, const Product &product, bool tf32);

} // namespace tcc::codegen::cuda
