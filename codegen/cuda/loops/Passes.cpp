//===- Passes.cpp - CUDA schedules as a pass, for tcc-opt -----------------===//
#include "codegen/cuda/loops/Passes.h"

#include "codegen/cuda/CudaTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

struct ScheduleCudaPass : PassWrapper<ScheduleCudaPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScheduleCudaPass)

  ScheduleCudaPass() = default;
  ScheduleCudaPass(const ScheduleCudaPass &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "tcc-schedule-cuda"; }
  llvm::StringRef getDescription() const override {
    return "print what CUDA schedules make of kernels of loops, and the launches of library kernels";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::Expected<CudaDescription> device = describeCuda(arch);
    if (!device) {
      emitError(getOperation().getLoc()) << llvm::toString(device.takeError());
      return signalPassFailure();
    }
    CudaTargetOptions options;
    options.device = *device;
    options.backend.sourcesOnly = true;
    options.backend.emitScheduled = !source;
    options.backend.emitSource = source;
    options.backend.emit = [](CudaText, llvm::StringRef, llvm::StringRef text) { llvm::outs() << text << "\n"; };
    CudaTarget target(&getContext(), std::move(options));
    WalkResult walked = getOperation().walk([&](Operation *op) {
      bool isKernel = llvm::isa<ir::KernelOp>(op);
      if (!isKernel && !target.hasLibraryKernel(op))
        return WalkResult::advance();
      FailureOr<KernelCode> code = isKernel ? target.addKernel(op, {}) : target.addLibraryKernel(op);
      if (failed(code))
        return WalkResult::interrupt();
      llvm::outs() << "// " << code->schedule << "\n";
      for (auto [i, launch] : llvm::enumerate(code->launches)) {
        llvm::outs() << "// launch " << launch.function << ": " << launch.device->grid[0] << " blocks of "
                     << launch.device->block[0] << " threads";
        if (i < code->choices.size())
          llvm::outs() << "; " << code->choices[i];
        llvm::outs() << "\n";
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    if (llvm::Error error = target.finish().takeError()) {
      emitError(getOperation().getLoc()) << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }

  Option<std::string> arch{*this, "arch", llvm::cl::init("sm_90a"), llvm::cl::desc("the device")};
  Option<bool> source{*this, "source", llvm::cl::init(false), llvm::cl::desc("print CUDA C++")};
};

} // namespace

void registerScheduleCudaPass() { PassRegistration<ScheduleCudaPass>(); }

} // namespace tcc::codegen
