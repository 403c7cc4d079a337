//===- Passes.h - CUDA schedules as a pass, for tcc-opt -----------*- C++ -*-===//
#pragma once

namespace tcc::codegen {

/// --tcc-schedule-cuda: schedules every tcc.kernel made of loops, and prints its launches and scheduled functions (or,
/// with the option `source`, CUDA C++) to the standard output. `arch` is the device, "sm_90a" by default.
void registerScheduleCudaPass();

} // namespace tcc::codegen
