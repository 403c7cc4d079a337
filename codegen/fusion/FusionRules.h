//===- FusionRules.h - when two kernels are better as one --------*- C++ -*-===//
#pragma once

#include "ir/Extents.h"

namespace tcc::codegen {

class Target;

enum class FusionPlan {
  No,
  Merge,        ///< the producer goes into the consumer; if others read it too, it stays for them
  MergeAndKeep, ///< the merged kernel also yields what others read of the producer
};

/// Every load from a nest of the kernel picks whole rows: its indices are different loops, the same for all loads of a
/// nest.
bool areRowsAligned(ir::KernelOp kernel);

/// The cost model, in one place. `decide` is cheap and looks at both kernels; `accept` looks at what became of them.
class FusionRules {
public:
  FusionPlan decide(ir::KernelOp producer, ir::KernelOp consumer, bool othersRead, bool othersAfter);
  /// Inlines nests of a merged kernel into the loads that read them, and merges nests over the same extents, where that
  /// is right.
  void inlineLoops(ir::KernelOp kernel);
  bool accept(ir::KernelOp merged, ir::KernelOp producer, ir::KernelOp consumer);
  /// The reason of the last answer of decide(), or of accept() where it was no: for people.
  llvm::StringRef why() const { return reason; }

  Target *target = nullptr;
  unsigned maxInputs = 24;
  unsigned maxOps = 400;

private:
  FusionPlan no(llvm::StringRef because) {
    reason = because;
    return FusionPlan::No;
  }
  FusionPlan yes(FusionPlan plan, llvm::StringRef because) {
    reason = because;
    return plan;
  }
  bool refuse(llvm::StringRef because) {
    reason = because;
    return false;
  }
  llvm::StringRef reason;
  bool isEpilogue(ir::KernelOp kernel, mlir::Operation *templateOp);
};

} // namespace tcc::codegen
