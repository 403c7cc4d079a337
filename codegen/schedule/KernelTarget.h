//===- KernelTarget.h - a target of templates and loops -----------*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "codegen/schedule/LoopKernel.h"
#include "ir/Dialect.h"

namespace tcc::codegen {

/// A schedule of kernels with a template op (matmul, conv, attention), for devices that a Description describes.
template <class Description, class Backend> struct TemplateSchedule {
  std::string name;
  std::function<bool(ir::KernelOp, const Description &)> accepts;
  std::function<mlir::FailureOr<KernelCode>(ir::KernelOp, ConstantInputs, Backend &)> apply;
};

/// What targets have in common: template schedules, asked in order, and loops for everything else. A Template is a
/// TemplateSchedule, maybe with more.
template <class Description, class Backend, class Template = TemplateSchedule<Description, Backend>>
class KernelTarget : public Target {
public:
  bool canCompile(mlir::Operation *op) override {
    auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
    return kernel && (templateFor(kernel) || isLoopKernel(kernel));
  }

  mlir::FailureOr<KernelCode> addKernel(mlir::Operation *op, ConstantInputs constants) override {
    auto kernel = llvm::dyn_cast<ir::KernelOp>(op);
    if (!kernel)
      return op->emitError("is not a kernel");
    if (const Template *schedule = templateFor(kernel)) {
      mlir::FailureOr<KernelCode> code = schedule->apply(kernel, constants, codeBackend);
      if (succeeded(code) && code->schedule.empty())
        code->schedule = schedule->name;
      return code;
    }
    std::string why;
    if (!isLoopKernel(kernel, &why))
      return kernel.emitError("no schedule takes this kernel: ") << why;
    return scheduleLoops(kernel);
  }

  Backend &backend() { return codeBackend; }

protected:
  template <class BackendOptions>
  KernelTarget(mlir::MLIRContext *context, Description device, BackendOptions options, std::vector<Template> templates)
      : description(std::move(device)), templates(std::move(templates)),
        codeBackend(context, description, std::move(options)) {}

  /// Schedules a kernel for which isLoopKernel() holds.
  virtual mlir::FailureOr<KernelCode> scheduleLoops(ir::KernelOp kernel) = 0;

  /// The first that accepts the kernel, or null.
  const Template *templateFor(ir::KernelOp kernel) const {
    for (const Template &schedule : templates)
      if (schedule.accepts(kernel, description))
        return &schedule;
    return nullptr;
  }

  const Description &device() const { return description; }

private:
  Description description;
  std::vector<Template> templates;
  Backend codeBackend;
};

} // namespace tcc::codegen
