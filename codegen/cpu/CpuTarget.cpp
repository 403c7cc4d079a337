//===- CpuTarget.cpp - kernels for CPUs -----------------------------------===//
#include "codegen/cpu/CpuTarget.h"

#include "codegen/cpu/LoopSchedule.h"

using namespace mlir;

namespace tcc::codegen {

CpuTarget::CpuTarget(MLIRContext *context, CpuTargetOptions given)
    : options(std::move(given)), codeBackend(context, options.cpu, options.backend) {}

bool CpuTarget::canCompile(Operation *op) {
  auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
  if (!kernel)
    return false;
  for (const TemplateSchedule &schedule : options.templates)
    if (schedule.accepts(kernel, options.cpu))
      return true;
  return isLoopKernel(kernel);
}

FailureOr<KernelCode> CpuTarget::addKernel(Operation *op, ConstantInputs constants) {
  auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
  if (!kernel)
    return op->emitError("is not a kernel");
  for (const TemplateSchedule &schedule : options.templates) {
    if (!schedule.accepts(kernel, options.cpu))
      continue;
    FailureOr<KernelCode> code = schedule.apply(kernel, constants, codeBackend);
    if (succeeded(code) && code->schedule.empty())
      code->schedule = schedule.name;
    return code;
  }
  std::string why;
  if (!isLoopKernel(kernel, &why))
    return kernel.emitError("no CPU schedule takes this kernel: ") << why;
  return scheduleLoopKernel(kernel, codeBackend, options.strict);
}

llvm::Expected<CodeBundle> CpuTarget::finish() {
  llvm::Expected<std::string> object = codeBackend.finish();
  if (!object)
    return object.takeError();
  return CodeBundle{std::move(*object), {}};
}

} // namespace tcc::codegen
