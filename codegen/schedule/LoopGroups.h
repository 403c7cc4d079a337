//===- LoopGroups.h - which loops of a kernel run together --------*- C++ -*-===//
#pragma once

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

/// When it pays for loops to share a function.
struct LoopGroupLimits {
  int64_t scratchBytes = 0;     ///< most that a row may leave from one loop to the next
  int64_t fewRows = 8;          ///< fewer rows do not keep threads busy,
  int64_t littleWork = 1 << 15; ///< unless there are no more elements than this
};

llvm::SmallVector<LoopGroup> groupLoops(ir::KernelOp kernel, const LoopGroupLimits &limits);

} // namespace tcc::codegen
