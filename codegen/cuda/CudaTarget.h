//===- CudaTarget.h - kernels for CUDA devices --------------------*- C++ -*-===//
#pragma once

#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/Tuning.h"
#include "codegen/schedule/KernelTarget.h"

namespace tcc::codegen {

struct CudaTemplate : TemplateSchedule<CudaDescription, CudaBackend> {
  /// What can be measured of a kernel that it accepts, with values for its symbols. Null: nothing.
  std::function<ScheduleSpace(ir::KernelOp, const CudaDescription &, llvm::ArrayRef<int64_t>)> space = nullptr;
};

struct CudaTargetOptions {
  CudaDescription device;
  CudaBackendOptions backend;
  /// No fused multiply-add where the model has a product and a sum.
  bool strict = false;
  /// Asked in order, before the loops.
  std::vector<CudaTemplate> templates;
};

/// The target of kernels for CUDA devices and for cuda-sim. What has no form as loops is in the device library. All
/// launches have a DeviceLaunch.
class CudaTarget : public KernelTarget<CudaDescription, CudaBackend, CudaTemplate> {
public:
  /// CudaBackend::loadDialects() must have been called for the context.
  CudaTarget(mlir::MLIRContext *context, CudaTargetOptions options);

  bool multipliesIntegers() const override { return true; }
  bool hasLibraryKernel(mlir::Operation *op) override;
  mlir::FailureOr<KernelCode> addLibraryKernel(mlir::Operation *op) override;
  llvm::Expected<CodeBundle> finish() override;
  bool launchesAreCostly() const override { return true; }
  bool hasOwnMemory() const override { return true; }

  /// The ways to schedule a kernel that addKernel() takes, where it has setChoice(). `symbols`: values of its symbols.
  ScheduleSpace space(ir::KernelOp kernel, llvm::ArrayRef<int64_t> symbols) const;

private:
  mlir::FailureOr<KernelCode> scheduleLoops(ir::KernelOp kernel) override;

  bool strict;
};

} // namespace tcc::codegen
