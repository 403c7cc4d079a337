//===- Backend.h - scheduled functions to a code object -----------*- C++ -*-===//
//
// The lower half of the CPU target: functions over flat memory become a freestanding shared object.
//
// A scheduled function has the arguments
//
//   memref<?xT>...          buffers, in the order of the launch. Bool is i8, holding 0 or 1
//   index...                scalars, in the order of the launch
//   memref<?xi8>            scratch, private to the calling thread, 64-byte aligned
//   index, index            begin, end: the work items to do
//   memref<?xi64>           optional: the error word (see runtime/kernel_abi.h)
//
// returns nothing, and uses the dialects func, scf, cf, arith, math, memref and vector. It must not call anything and
// not allocate. Buffers do not overlap, unless the function carries the attribute `tcc.may_alias`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/CpuDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::func {
class FuncOp;
}

namespace tcc::codegen {

/// What `--emit` asks for.
enum class CodeText { Scheduled, Llvm, Assembly };

struct BackendOptions {
  /// Called with a name (of a file, without suffix) and the text, from finish() only and never from two threads at
  /// once. Null: nothing is printed.
  std::function<void(CodeText, llvm::StringRef name, llvm::StringRef text)> emit;
  /// Called with the number of functions compiled and of all, likewise. Null: nobody wants to know.
  std::function<void(int done, int total)> progress;
  bool emitScheduled = false, emitLlvm = false, emitAssembly = false;
  /// Threads that compile; 0: as many as there are cores.
  unsigned threads = 0;
};

/// What finish() did, for the compile report.
struct BackendStatistics {
  int functions = 0;       ///< compiled
  int sharedFunctions = 0; ///< asked for, and equal to one that was there
  double lowerSeconds = 0; ///< CPU time: MLIR
  double llvmSeconds = 0;  ///< CPU time: LLVM
  double linkSeconds = 0;
};

/// Collects scheduled functions and compiles them. Not thread-safe; finish() uses threads of its own. The context must
/// outlive it.
class Backend {
public:
  Backend(mlir::MLIRContext *context, CpuDescription cpu, BackendOptions options = {});
  ~Backend();

  /// The dialects that scheduled functions use and their translation to LLVM. To be called once for each context,
  /// before anything else is done with it.
  static void loadDialects(mlir::MLIRContext *context);

  /// An empty function to fill: its body has one block, whose arguments are those above. `name` may hold anything, it
  /// serves as a hint for the symbol's name.
  mlir::func::FuncOp createFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> bufferElements,
                                    unsigned numScalars, bool withErrorWord = false);

  /// Queues a function that createFunction() made (or any other of that form without a parent) and takes it over.
  /// Returns the symbol to call, which an equal function queued before may share.
  std::string addFunction(mlir::func::FuncOp function);

  /// Compiles what was queued: a shared object that exports a TccKernelFunction for each symbol. It has no undefined
  /// symbols, no dependencies, no thread-local storage and no constructors. Errors are faults of the schedules or of
  /// this code.
  llvm::Expected<std::string> finish();

  const CpuDescription &cpu() const { return description; }
  const BackendStatistics &statistics() const { return stats; }

private:
  struct Queued {
    std::string symbol;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    int64_t cost;
  };

  mlir::MLIRContext *context;
  CpuDescription description;
  BackendOptions options;
  BackendStatistics stats;
  std::vector<Queued> queue;
  llvm::StringMap<std::string> known; ///< hash of a function -> symbol
  unsigned counter = 0;
};

} // namespace tcc::codegen
