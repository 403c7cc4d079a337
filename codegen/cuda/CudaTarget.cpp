//===- CudaTarget.cpp - kernels for CUDA devices --------------------------===//
#include "codegen/cuda/CudaTarget.h"

#include "codegen/cuda/library/LibraryKernel.h"
#include "codegen/cuda/loops/LoopSchedule.h"
#include "codegen/cuda/loops/SearchSpace.h"

using namespace mlir;

namespace tcc::codegen {

CudaTarget::CudaTarget(MLIRContext *context, CudaTargetOptions given)
    : options(std::move(given)), codeBackend(context, options.device, options.backend) {}

bool CudaTarget::canCompile(Operation *op) {
  auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
  if (!kernel)
    return false;
  for (const CudaTemplate &schedule : options.templates)
    if (schedule.accepts(kernel, options.device))
      return true;
  return isLoopKernel(kernel);
}

FailureOr<KernelCode> CudaTarget::addKernel(Operation *op, ConstantInputs constants) {
  auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
  if (!kernel)
    return op->emitError("is not a kernel");
  for (const CudaTemplate &schedule : options.templates) {
    if (!schedule.accepts(kernel, options.device))
      continue;
    FailureOr<KernelCode> code = schedule.apply(kernel, constants, codeBackend);
    if (succeeded(code) && code->schedule.empty())
      code->schedule = schedule.name;
    return code;
  }
  std::string why;
  if (!isLoopKernel(kernel, &why))
    return kernel.emitError("no CUDA schedule takes this kernel: ") << why;
  return cuda::scheduleLoopKernel(kernel, codeBackend, options.strict);
}

bool CudaTarget::hasLibraryKernel(Operation *op) { return cuda::hasLibraryKernel(op); }

FailureOr<KernelCode> CudaTarget::addLibraryKernel(Operation *op) { return cuda::scheduleLibrary(op, codeBackend); }

ScheduleSpace CudaTarget::space(ir::KernelOp kernel, llvm::ArrayRef<int64_t> symbols) const {
  for (const CudaTemplate &schedule : options.templates)
    if (schedule.accepts(kernel, options.device))
      return schedule.space ? schedule.space(kernel, options.device, symbols) : ScheduleSpace();
  return isLoopKernel(kernel) ? cuda::loopSpace(kernel) : ScheduleSpace();
}

llvm::Expected<CodeBundle> CudaTarget::finish() { return codeBackend.finish(); }

} // namespace tcc::codegen
