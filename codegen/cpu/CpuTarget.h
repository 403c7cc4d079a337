//===- CpuTarget.h - kernels for CPUs -----------------------------*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "codegen/cpu/Backend.h"
#include "ir/Dialect.h"

namespace tcc::codegen {

/// A schedule of kernels with a template op (matmul, conv, attention).
struct TemplateSchedule {
  std::string name;
  std::function<bool(ir::KernelOp, const CpuDescription &)> accepts;
  std::function<mlir::FailureOr<KernelCode>(ir::KernelOp, ConstantInputs, Backend &)> apply;
};

struct CpuTargetOptions {
  CpuDescription cpu;
  BackendOptions backend;
  /// No fused multiply-add where the model has a product and a sum.
  bool strict = false;
  /// Asked in order, before the loops.
  std::vector<TemplateSchedule> templates;
};

/// The target of kernels for CPUs: template schedules, and loops for everything else.
class CpuTarget : public Target {
public:
  /// Backend::loadDialects() must have been called for the context.
  CpuTarget(mlir::MLIRContext *context, CpuTargetOptions options);

  bool canCompile(mlir::Operation *kernel) override;
  mlir::FailureOr<KernelCode> addKernel(mlir::Operation *kernel, ConstantInputs constants) override;
  llvm::Expected<CodeBundle> finish() override;

  Backend &backend() { return codeBackend; }

private:
  CpuTargetOptions options;
  Backend codeBackend;
};

} // namespace tcc::codegen
