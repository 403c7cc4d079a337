//===- Target.h - the code generator a request asks for ---------*- C++ -*-===//
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "codegen/Target.h"
#include "codegen/cpu/Backend.h"
#include "compiler/options.h"
#include "runtime/package.h"

namespace tcc::compiler {

struct TargetInstance {
  std::unique_ptr<codegen::Target> target;
  /// What a machine must have to run the code: for the package.
  CodeTarget code;
};

/// Makes the target and loads the dialects it needs into the context. InvalidArgument for a processor that does not
/// exist or that kernels cannot be made for. `backend.emit` gets the text of what is generated.
absl::StatusOr<TargetInstance> MakeTarget(const Options &options, codegen::BackendOptions backend,
                                          mlir::MLIRContext *context);

} // namespace tcc::compiler
