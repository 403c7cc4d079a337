//===- Target.h - the code generator a request asks for ---------*- C++ -*-===//
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/Target.h"
#include "compiler/options.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/package.h"

namespace tcc::compiler {

/// What the target tells while it generates code.
struct TargetHooks {
  /// Whether a text is wanted: a name of --emit that the target makes ("scheduled", "llvm", "asm", "cuda"). Null: none.
  std::function<bool(const char *name)> wants;
  /// The text of one function, with a line for people before it.
  std::function<void(const char *name, llvm::StringRef function, llvm::StringRef text)> emit;
  /// Functions that are compiled, of how many. From any thread.
  std::function<void(int done, int total)> progress;
  /// The folder of the cache in which kernels for GPUs are kept one by one; empty: nowhere.
  std::string kernelCache;
};

struct TargetInstance {
  std::unique_ptr<codegen::Target> target;
  /// What a machine must have to run the code: for the package.
  CodeTarget code;
};

/// Makes the target and loads the dialects it needs into the context. InvalidArgument for a processor that does not
/// exist or that kernels cannot be made for.
absl::StatusOr<TargetInstance> MakeTarget(const Options &options, const TargetHooks &hooks, mlir::MLIRContext *context);

} // namespace tcc::compiler
