//===- CpuTarget.cpp - kernels for CPUs -----------------------------------===//
#include "codegen/cpu/CpuTarget.h"

#include "codegen/cpu/LoopSchedule.h"

using namespace mlir;

namespace tcc::codegen {

CpuTarget::CpuTarget(MLIRContext *context, CpuTargetOptions options)
    : KernelTarget(context, std::move(options.cpu), std::move(options.backend), std::move(options.templates)),
      strict(options.strict) {}

FailureOr<KernelCode> CpuTarget::scheduleLoops(ir::KernelOp kernel) {
  return scheduleLoopKernel(kernel, backend(), strict);
}

llvm::Expected<CodeBundle> CpuTarget::finish() {
  llvm::Expected<std::string> object = backend().finish();
  if (!object)
    return object.takeError();
  return CodeBundle{std::move(*object), {}};
}

} // namespace tcc::codegen
