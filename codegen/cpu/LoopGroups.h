//===- LoopGroups.h - which loops of a kernel run together --------*- C++ -*-===//
#pragma once

#include "codegen/cpu/CpuDescription.h"
#include "codegen/schedule/LoopNest.h"

namespace tcc::codegen {

/// Loops that become one function.
struct LoopGroup {
  llvm::SmallVector<ir::LoopsOp> loops;
  unsigned prefix =
      0; ///< number of outer parallel dimensions that all loops share and that work items run over; 0 for a single loop
};

llvm::SmallVector<LoopGroup> groupLoops(ir::KernelOp kernel, const CpuDescription &cpu);

} // namespace tcc::codegen
