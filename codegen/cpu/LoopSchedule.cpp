//===- LoopSchedule.cpp - kernels made of loops ---------------------------===//
#include "codegen/cpu/LoopSchedule.h"

#include "codegen/cpu/LoopFunction.h"

using namespace mlir;

namespace tcc::codegen {

FailureOr<KernelCode> scheduleLoopKernel(ir::KernelOp kernel, Backend &backend, bool strict) {
  llvm::SmallVector<LoopGroup> groups = groupLoops(kernel, {.scratchBytes = backend.cpu().l2Bytes});
  return scheduleGroups(kernel, groups, [&](GroupNests &nests, llvm::StringRef name, KernelCode &code) {
    return LoopFunction(nests, backend, strict).emit(name, code);
  });
}

} // namespace tcc::codegen
