//===- LoopSchedule.h - kernels made of loops, for CUDA -----------*- C++ -*-===//
//
// Schedules kernels that hold tcc.loops only (see codegen/schedule/LoopKernel.h), each group of loops as one kernel
// launch or, for reductions that too few threads would share, two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaBackend.h"
#include "codegen/schedule/LoopKernel.h"

namespace tcc::codegen::cuda {

/// Requires isLoopKernel().
mlir::FailureOr<KernelCode> scheduleLoopKernel(ir::KernelOp kernel, CudaBackend &backend, bool strict);

} // namespace tcc::codegen::cuda
