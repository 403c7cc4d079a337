//===- LoopSchedule.cpp - kernels made of loops, for CUDA -----------------===//
#include "codegen/cuda/loops/LoopSchedule.h"

#include "codegen/cuda/loops/LoopFunction.h"

using namespace mlir;

namespace tcc::codegen::cuda {

FailureOr<KernelCode> scheduleLoopKernel(ir::KernelOp kernel, CudaBackend &backend, bool strict) {
  // What rows leave from loop to loop may be in a temporary: it is no more than separate kernels would write.
  llvm::SmallVector<LoopGroup> groups =
      groupLoops(kernel, {.scratchBytes = 1 << 22, .fewRows = 16, .littleWork = 1 << 16});
  return scheduleGroups(kernel, groups, [&](GroupNests &nests, llvm::StringRef, KernelCode &code) {
    return LoopFunction(nests, kernel, backend, strict).emit(code);
  });
}

} // namespace tcc::codegen::cuda
