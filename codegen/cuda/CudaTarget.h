//===- CudaTarget.h - kernels for CUDA devices --------------------*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/Tuning.h"
#include "ir/Dialect.h"

namespace tcc::codegen {

/// A schedule of kernels with a template op (matmul, conv, attention).
struct CudaTemplate {
  std::string name;
  std::function<bool(ir::KernelOp, const CudaDescription &)> accepts;
  std::function<mlir::FailureOr<KernelCode>(ir::KernelOp, ConstantInputs, CudaBackend &)> apply;
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

/// The target of kernels for CUDA devices and for cuda-sim: template schedules, loops for everything else that has a
/// form as such, and the device library for what has none. All launches have a DeviceLaunch.
class CudaTarget : public Target {
public:
  /// CudaBackend::loadDialects() must have been called for the context.
  CudaTarget(mlir::MLIRContext *context, CudaTargetOptions options);

  bool canCompile(mlir::Operation *kernel) override;
  bool multipliesIntegers() const override { return true; }
  mlir::FailureOr<KernelCode> addKernel(mlir::Operation *kernel, ConstantInputs constants) override;
  bool hasLibraryKernel(mlir::Operation *op) override;
  mlir::FailureOr<KernelCode> addLibraryKernel(mlir::Operation *op) override;
  llvm::Expected<CodeBundle> finish() override;
  bool launchesAreCostly() const override { return true; }

  /// The ways to schedule a kernel that addKernel() takes, where it has setChoice(). `symbols`: values of its symbols.
  ScheduleSpace space(ir::KernelOp kernel, llvm::ArrayRef<int64_t> symbols) const;

  CudaBackend &backend() { return codeBackend; }

private:
  CudaTargetOptions options;
  CudaBackend codeBackend;
};

} // namespace tcc::codegen
