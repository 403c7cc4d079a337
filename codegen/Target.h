//===- Target.h - what a code generator offers to the planner ----*- C++ -*-===//
//
// The planner (codegen/plan) hands each tcc.kernel to a target and gets back launches to put into the plan. CPU and
// CUDA implement this.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ir/Extents.h"
#include "mlir/IR/Operation.h"
#include "runtime/kernel_image.h"
#include "runtime/tensor.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// How a kernel loads tiles of one of its buffers by TMA: runtime/plan.h, TensorMap. Strides count elements.
struct TensorMap {
  int32_t buffer; ///< index into the launch's buffers
  int32_t elementBytes;
  llvm::SmallVector<mlir::AffineExpr> extents; ///< innermost first
  llvm::SmallVector<mlir::AffineExpr> strides; ///< of the others
  llvm::SmallVector<int32_t> box;
  int32_t swizzle; ///< bytes
};

/// How a kernel of a device is launched. Expressions are over symbols.
struct DeviceLaunch {
  std::array<mlir::AffineExpr, 3> grid; ///< blocks along x, y, z; null: 1. Nothing is launched where one is 0.
  std::array<int, 3> block = {1, 1, 1}; ///< threads of a block
  mlir::AffineExpr sharedBytes;         ///< dynamic shared memory of a block; null: none
  /// Blocks that the schedule plans to be on one multiprocessor at a time; 0: it plans nothing.
  int blocksPerMultiprocessor = 0;
  /// After the scalars comes a pointer to an int64 error word on the device, in which the kernel stores a code of
  /// runtime/kernel_abi.h where it fails.
  bool reportsErrors = false;
  /// Not null: after the error word comes a pointer to so many int32 on the device. All are zero, and the kernel leaves
  /// them so: by them blocks find out which of them comes last. No two launches use them at a time.
  mlir::AffineExpr counters = {};
  /// Parameters behind all others.
  std::vector<TensorMap> tensorMaps = {};
};

/// One function call over a range of work items, or (where `device` is set) one launch of a grid. `buffers` index into
/// the kernel's argument list: inputs, then results, then temporaries, then constants (in this order, see KernelCode).
struct LaunchSpec {
  std::string function;
  llvm::SmallVector<int32_t> buffers;
  /// Symbols (positions) whose values are passed as scalars, in order.
  llvm::SmallVector<unsigned> symbols;
  mlir::AffineExpr items;        ///< number of work items; null with `device`
  int64_t grain = 1;             ///< least number of items worth a thread
  mlir::AffineExpr scratchBytes; ///< per thread
  std::optional<DeviceLaunch> device = {};
};

/// A kernel constant made at compile time, for example packed weights.
struct ConstantBlob {
  tcc::Tensor tensor;
};

/// How one tcc.kernel op is executed.
struct KernelCode {
  llvm::SmallVector<LaunchSpec, 1> launches; ///< run in order; at least one
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
  /// Where the code finds out an extent of its results (one symbol of theirs, that nothing has bound before): the
  /// temporary in which it leaves that number, as an i64. -1: it does not.
  int32_t found = -1;
  /// So many launches find out extents of results before there are results; they take operands and the temporary
  /// `found` alone, in which they leave the extents of all axes of all results. What an extent should be anyway is
  /// compared.
  int32_t findLaunches = 0;
  /// Then, for each result, as many elements as there may be: those that there are come first, in row-major order.
  /// Null: its type says it.
  llvm::SmallVector<mlir::AffineExpr> capacities;
  std::string schedule; ///< name of the schedule, for explain ("pointwise", "gemm", ...)
  /// What it chose, for logs: "6x32 tiles, 2 of them an item". One entry a launch at most.
  llvm::SmallVector<std::string> choices;
};

/// A kernel's constant inputs: null for inputs that are not constants.
using ConstantInputs = llvm::ArrayRef<mlir::ElementsAttr>;

/// What a kernel of a device takes of it, as the compiler says. Bytes.
struct ImageResources {
  std::string symbol, arch;
  int registers = 0;       ///< of a thread
  int64_t spillBytes = 0;  ///< of a thread, stored and loaded
  int64_t sharedBytes = 0; ///< static, of a block
};

/// What a target compiled all its functions to.
struct CodeBundle {
  std::string object;                         ///< the shared object of host code; empty: none
  std::vector<tcc::KernelImage> images;       ///< one for each function of a device
  std::vector<ImageResources> resources = {}; ///< of images for GPUs
};

class Target {
public:
  virtual ~Target() = default;
  /// Whether a schedule exists for this kernel: asked by fusion, cheap, no side effects. What has none stays a
  /// library call.
  virtual bool canCompile(mlir::Operation *kernel) = 0;
  /// Whether products of int32 become kernels; else they are library calls.
  virtual bool multipliesIntegers() const { return false; }
  /// Schedules the kernel and queues its code; kernels of the same structure share a function. `kernel` is a
  /// tcc.kernel. Not thread-safe. An error is emitted at the kernel's location.
  virtual mlir::FailureOr<KernelCode> addKernel(mlir::Operation *kernel, ConstantInputs constants) = 0;
  /// Whether there is code for an op that has no form as loops, and would be a library call on the host else. Asked by
  /// the planner, cheap, no side effects.
  virtual bool hasLibraryKernel(mlir::Operation * /*op*/) { return false; }
  /// The code of such an op: buffers are its operands, its results and temporaries. As addKernel() else.
  virtual mlir::FailureOr<KernelCode> addLibraryKernel(mlir::Operation *op);
  /// Compiles everything queued (in parallel). Function names of launches are exported symbols of the object, or
  /// symbols of images.
  virtual llvm::Expected<CodeBundle> finish() = 0;
  /// Whether a launch costs so much that kernels are merged which gain nothing else by it: asked by the graph passes.
  virtual bool launchesAreCostly() const { return false; }
  /// Whether kernels work in memory of their own: what is a library call on the host costs transfers. Asked by the
  /// planner.
  virtual bool hasOwnMemory() const { return false; }
};

inline mlir::FailureOr<KernelCode> Target::addLibraryKernel(mlir::Operation *op) {
  return op->emitError("has no library kernel on this target");
}

} // namespace tcc::codegen
