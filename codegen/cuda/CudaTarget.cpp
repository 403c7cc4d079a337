//===- CudaTarget.cpp - kernels for CUDA devices --------------------------===//
#include "codegen/cuda/CudaTarget.h"

#include "codegen/cuda/library/LibraryKernel.h"
#include "codegen/cuda/loops/LoopSchedule.h"
#include "codegen/cuda/loops/SearchSpace.h"

using namespace mlir;

namespace tcc::codegen {

CudaTarget::CudaTarget(MLIRContext *context, CudaTargetOptions options)
    : KernelTarget(context, std::move(options.device), std::move(options.backend), std::move(options.templates)),
      strict(options.strict) {}

FailureOr<KernelCode> CudaTarget::scheduleLoops(ir::KernelOp kernel) {
  return cuda::scheduleLoopKernel(kernel, backend(), strict);
}

bool CudaTarget::hasLibraryKernel(Operation *op) { return cuda::hasLibraryKernel(op); }

FailureOr<KernelCode> CudaTarget::addLibraryKernel(Operation *op) { return cuda::scheduleLibrary(op, backend()); }

ScheduleSpace CudaTarget::space(ir::KernelOp kernel, llvm::ArrayRef<int64_t> symbols) const {
  if (const CudaTemplate *schedule = templateFor(kernel))
    return schedule->space ? schedule->space(kernel, device(), symbols) : ScheduleSpace();
  return isLoopKernel(kernel) ? cuda::loopSpace(kernel) : ScheduleSpace();
}

llvm::Expected<CodeBundle> CudaTarget::finish() { return backend().finish(); }

} // namespace tcc::codegen
