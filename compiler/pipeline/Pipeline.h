//===- Pipeline.h - which passes run, and in which order --------*- C++ -*-===//
#pragma once

#include <string>

#include "mlir/Pass/PassManager.h"

namespace tcc::codegen {
class Target;
}

namespace tcc::compiler {

struct PipelineOptions {
  /// What generates kernels; null: everything stays a library call.
  codegen::Target *target = nullptr;
  /// "bf16" or "f16": contractions compute in it; empty: as the model says.
  std::string precision;
};

/// Graph passes on level 1: recognise, simplify, lay out.
void addSimplifyPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

/// Level 1 to kernels. Nothing without a target.
void addFusionPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

} // namespace tcc::compiler
