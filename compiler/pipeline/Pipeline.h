//===- Pipeline.h - which passes run, and in which order --------*- C++ -*-===//
#pragma once

#include "mlir/Pass/PassManager.h"

namespace tcc::codegen {
class Target;
}

namespace tcc::compiler {

struct PipelineOptions {
  /// What generates kernels; null: everything stays a library call.
  codegen::Target *target = nullptr;
};

/// Graph passes on level 1: recognise, simplify, lay out.
void addSimplifyPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

/// Level 1 to kernels. Nothing without a target.
void addFusionPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

} // namespace tcc::compiler
