//===- CpuTarget.h - kernels for CPUs -----------------------------*- C++ -*-===//
#pragma once

#include "codegen/cpu/Backend.h"
#include "codegen/schedule/KernelTarget.h"

namespace tcc::codegen {

using CpuTemplate = TemplateSchedule<CpuDescription, Backend>;

struct CpuTargetOptions {
  CpuDescription cpu;
  BackendOptions backend;
  /// No fused multiply-add where the model has a product and a sum.
  bool strict = false;
  /// Asked in order, before the loops.
  std::vector<CpuTemplate> templates;
};

/// The target of kernels for CPUs.
class CpuTarget : public KernelTarget<CpuDescription, Backend> {
public:
  /// Backend::loadDialects() must have been called for the context.
  CpuTarget(mlir::MLIRContext *context, CpuTargetOptions options);

  llvm::Expected<CodeBundle> finish() override;

private:
  mlir::FailureOr<KernelCode> scheduleLoops(ir::KernelOp kernel) override;

  bool strict;
};

} // namespace tcc::codegen
