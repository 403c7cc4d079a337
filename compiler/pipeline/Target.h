//===- Target.h - the code generator a request asks for ---------*- C++ -*-===//
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/Target.h"
#include "compiler/options.h"

namespace tcc::compiler {

struct TargetInstance {
  std::unique_ptr<codegen::Target> target;
  /// What a machine must have to run the code: for the package.
  std::vector<std::string> required_features;
};

/// Makes the target and loads the dialects it needs into the context. InvalidArgument for a processor that does not
/// exist or that kernels cannot be made for.
absl::StatusOr<TargetInstance> MakeTarget(const Options &options, mlir::MLIRContext *context);

} // namespace tcc::compiler
