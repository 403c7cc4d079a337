//===- LoopSchedule.h - kernels made of loops ---------------------*- C++ -*-===//
//
// Schedules kernels that hold tcc.loops only. Loops that share their outer parallel dimensions and hand values to one
// another only within one point of these become one function (softmax, normalisations: a row stays in cache); others
// are functions of their own, with temporaries between. The updates of a tcc.scatter are one such function
// (ScatterFunction.cpp), which works on what the function before has left in the result's place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/Target.h"
#include "codegen/cpu/Backend.h"
#include "ir/Dialect.h"

namespace tcc::codegen {

/// Whether the kernel has no template op but tcc.scatter, and only element types and ops that bodies can be made of.
/// Why not, otherwise.
bool isLoopKernel(ir::KernelOp kernel, std::string *why = nullptr);

/// Requires isLoopKernel().
mlir::FailureOr<KernelCode> scheduleLoopKernel(ir::KernelOp kernel, Backend &backend, bool strict);

} // namespace tcc::codegen
