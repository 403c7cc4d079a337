//===- Passes.h - the printer as a pass, for tcc-opt ---------------*- C++ -*-===//
#pragma once

namespace tcc::codegen {

/// --tcc-print-cuda: prints every function with tcc.block as a kernel, and those with tcc.device_function that no
/// kernel calls as functions (as functors where they have an integer attribute tcc.members), to the standard output.
void registerPrintCudaPass();

} // namespace tcc::codegen
