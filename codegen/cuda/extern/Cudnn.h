//===- Cudnn.h - convolutions that cuDNN can do -------------------*- C++ -*-===//
//
// | condition  |                                                                                                  |
// |------------|--------------------------------------------------------------------------------------------------|
// | op         | conv with all extents known, along one to three axes, of float16, bfloat16 or float32            |
// | operands   | plain reads with a stride along each axis; weights as they are, or packed for the kernel         |
// | groups     | any, where tiles are used: not those of so few channels that each result has a thread            |
// | result     | one, with a stride along each axis: channels first or last                                       |
// | epilogue   | see Epilogue.h: a bias along the channels, another tensor of the result's extents                |
//
// Which of them cuDNN has an engine for (fused ones mostly for channels last and channels that are multiples of 8) is
// found out when a call is loaded; where there is none, the kernel is taken.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/schedule/template/ConvGeometry.h"
#include "runtime/devices/extern/conv_descriptor.h"

namespace tcc::codegen::cuda {

/// The call that does what the convolution and its epilogue do, with numbers of buffers as parameters; nothing where
/// the conditions do not hold. `weights`: the operand of the product that they are.
std::optional<devices::ConvDescriptor> cudnnCall(const KernelBuilder &builder, const gemm::ConvGeometry &conv,
                                                 const OperandSpec &weights, bool tf32);

} // namespace tcc::codegen::cuda
