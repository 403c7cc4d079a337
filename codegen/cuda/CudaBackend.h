//===- CudaBackend.h - scheduled functions and texts to kernel images -*- C++ -*-===//
//
// The lower half of the CUDA target. A scheduled function has the arguments
//
//   memref<?xT>...          buffers, in the order of the launch. Bool is i8, holding 0 or 1
//   index...                scalars, in the order of the launch
//   memref<?xi64>           optional: the error word (see runtime/kernel_abi.h)
//
// returns nothing, and uses the dialects func, scf, arith, math, memref, vector and gpu in the form that
// codegen/cuda/print takes. Attributes of the function: `tcc.block` (array<i64>: threads of a block), `tcc.index_bits`
// (32 where every index fits, else 64), `tcc.sources` (the ops it was made from), `tcc.schedule`, `tcc.may_alias`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/Target.h"
#include "codegen/cuda/CudaDescription.h"
#include "codegen/cuda/compile/KernelCompiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace tcc::codegen {

/// Stands for the kernel's symbol in texts that are given to CudaBackend::addText.
inline constexpr llvm::StringLiteral kKernelNamePlaceholder = "TCC_KERNEL_NAME";

/// What `--emit` asks for: scheduled functions, CUDA C++.
enum class CudaText { Scheduled, Source };

struct CudaBackendOptions {
  /// Called with the kernel's symbol and the text, from finish() only. Null: nothing is printed.
  std::function<void(CudaText, llvm::StringRef name, llvm::StringRef text)> emit;
  bool emitScheduled = false, emitSource = false;
  CompileOptions compile;
  /// Each kernel is compiled for these. Empty: for the device's.
  std::vector<std::string> archs;
  /// Give back sources only: no compiler is asked.
  bool sourcesOnly = false;
};

struct CudaBackendStatistics {
  int kernels = 0;       ///< different ones
  int sharedKernels = 0; ///< asked for, and equal to one that was there
  int cachedKernels = 0; ///< found compiled
  double compileSeconds = 0;
};

/// Collects kernels and compiles them. Not thread-safe; finish() uses threads of its own. The context must outlive it.
class CudaBackend {
public:
  CudaBackend(mlir::MLIRContext *context, CudaDescription device, CudaBackendOptions options = {});
  ~CudaBackend();

  /// The dialects that scheduled functions use. To be called once for each context, before anything else is done with
  /// it.
  static void loadDialects(mlir::MLIRContext *context);

  /// An empty function to fill, in a module of its own: its body has one block, whose arguments are those above.
  mlir::func::FuncOp createFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> bufferElements,
                                    unsigned numScalars, bool withErrorWord = false, bool withCounters = false);

  /// Prints a function that createFunction() made, queues its text and takes the function over. Its name is a hint for
  /// the symbol. Returns the symbol to launch, which kernels of equal text share: it depends on nothing but hint and
  /// text, so that a kernel's image is the same in every model. An error is emitted at the function's location.
  mlir::FailureOr<std::string> addKernel(mlir::func::FuncOp function);
  /// Queues a text whose entry point is called kKernelNamePlaceholder; `symbol` is a hint, what the symbol begins with.
  /// Returns the symbol to launch, likewise.
  std::string addText(KernelSource source);

  /// What `function`, which createFunction() made, calls where it calls `deviceName` of the device library
  /// ("tcc::block_reduce_sum<float, 256>").
  static mlir::func::FuncOp declareDevice(mlir::func::FuncOp function, llvm::StringRef deviceName,
                                          mlir::FunctionType type);

  /// Compiles what was queued, in parallel.
  llvm::Expected<CodeBundle> finish();

  const CudaDescription &device() const { return description; }
  const CudaBackendStatistics &statistics() const { return stats; }

private:
  struct Queued {
    KernelSource kernel;   ///< symbol and text as they will be
    std::string scheduled; ///< for emitScheduled
  };

  mlir::MLIRContext *context;
  CudaDescription description;
  CudaBackendOptions options;
  CudaBackendStatistics stats;
  std::vector<Queued> queue;
  llvm::StringMap<size_t> known;                                                ///< symbol -> position in the queue
  llvm::DenseMap<mlir::Operation *, mlir::OwningOpRef<mlir::ModuleOp>> modules; ///< functions that are not added yet
};

} // namespace tcc::codegen
