//===- Target.h - what a code generator offers to the planner ----*- C++ -*-===//
//
// The planner (codegen/plan) hands each tcc.kernel to a target and gets back launches to put into the plan. CPU and
// CUDA implement this.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

#include "ir/Extents.h"
#include "runtime/tensor.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// One function call over a range of work items. `buffers` index into the kernel's argument list: inputs, then results,
/// then temporaries, then constants (in this order, see KernelCode).
struct LaunchSpec {
  std::string function;
  llvm::SmallVector<int32_t> buffers;
  /// Symbols (positions) whose values are passed as scalars, in order.
  llvm::SmallVector<unsigned> symbols;
  mlir::AffineExpr items;        ///< number of work items
  int64_t grain = 1;             ///< least number of items worth a thread
  mlir::AffineExpr scratchBytes; ///< per thread
};

/// A kernel constant made at compile time, for example packed weights.
struct ConstantBlob {
  tcc::Tensor tensor;
};

/// How one tcc.kernel op is executed.
struct KernelCode {
  llvm::SmallVector<LaunchSpec> launches; ///< run in order; at least one
  llvm::SmallVector<mlir::AffineExpr> temporaryBytes;
  llvm::SmallVector<ConstantBlob> constants;
  /// Positions of kernel inputs that the code no longer reads (replaced by constants): the planner may drop them.
  llvm::SmallVector<int32_t> unusedInputs;
  /// Result position -> input position that it may overwrite in place (same extents, read at the same index it is
  /// written).
  llvm::SmallVector<std::pair<int32_t, int32_t>> inPlace;
  /// Launch position -> result position: the launch does nothing but copy an input that the result may take the place
  /// of (see inPlace): not needed where it does.
  llvm::SmallVector<std::pair<int32_t, int32_t>> copies;
  std::string schedule; ///< name of the schedule, for explain ("pointwise", "gemm", ...)
  /// What it chose, for logs: "6x32 tiles, 2 of them an item". One entry a launch at most.
  llvm::SmallVector<std::string> choices;
};

/// A kernel's constant inputs: null for inputs that are not constants.
using ConstantInputs = llvm::ArrayRef<mlir::ElementsAttr>;

class Target {
public:
  virtual ~Target() = default;
  /// Whether a schedule exists for this kernel: asked by fusion, cheap, no side effects. What has none stays a
  /// library call.
  virtual bool canCompile(mlir::Operation *kernel) = 0;
  /// Schedules the kernel and queues its code; kernels of the same structure share a function. `kernel` is a
  /// tcc.kernel. Not thread-safe. An error is emitted at the kernel's location.
  virtual mlir::FailureOr<KernelCode> addKernel(mlir::Operation *kernel, ConstantInputs constants) = 0;
  /// Compiles everything queued (in parallel) and returns the code object's bytes and, in the order of the launches'
  /// function names, nothing else: function names are its exported symbols.
  virtual llvm::Expected<std::string> finish() = 0;
};

} // namespace tcc::codegen
