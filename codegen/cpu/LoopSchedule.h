//===- LoopSchedule.h - kernels made of loops ---------------------*- C++ -*-===//
//
// Schedules kernels that hold tcc.loops only. The loops of a group (see LoopKernel.h) run row by row in one function,
// so that a row stays in cache.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Backend.h"
#include "codegen/schedule/LoopKernel.h"

namespace tcc::codegen {

/// Requires isLoopKernel().
mlir::FailureOr<KernelCode> scheduleLoopKernel(ir::KernelOp kernel, Backend &backend, bool strict);

} // namespace tcc::codegen
