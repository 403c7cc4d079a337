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
  /// The loop makes the updates of this scatter. Null: it does not.
  ir::ScatterOp scatter = {};
};

/// The scatter that reads what the loops make, or null.
ir::ScatterOp scatterOf(ir::LoopsOp op);

llvm::SmallVector<LoopGroup> groupLoops(ir::KernelOp kernel, const CpuDescription &cpu);

} // namespace tcc::codegen
