//===- Pipeline.cpp - which passes run, and in which order ----------------===//
#include "compiler/pipeline/Pipeline.h"

#include "codegen/Target.h"
#include "codegen/fusion/Passes.h"
#include "ir/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tcc::compiler {

void addSimplifyPipeline(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Views first: the patterns below look through none.
  passes.addPass(ir::createSimplifyViewsPass());
  passes.addPass(ir::createRecognizeNormalizationPass());
  passes.addPass(ir::createRecognizeSoftmaxPass());
  passes.addPass(ir::createRecognizeAttentionPass());
  passes.addPass(ir::createFoldScaleIntoWeightsPass());
  if (!options.precision.empty()) {
    ir::ConvertPrecisionPassOptions precision;
    precision.type = options.precision;
    passes.addPass(ir::createConvertPrecisionPass(precision));
  }
  // Only generated convolutions gain from it.
  if (options.target)
    passes.addPass(ir::createPropagateChannelsLastPass());
  // Transposed, reshaped and scaled weights, before schedules look for constants to pack.
  passes.addPass(ir::createFoldConstantsPass());
  // What the passes above left behind.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (options.target && options.target->launchesAreCostly()) {
    // When weights are constants, and equal operands are one.
    passes.addPass(ir::createMergeMatmulsPass());
    // Reshapes of reshapes, or siblings would not look alike.
    passes.addPass(createCanonicalizerPass());
    passes.addPass(ir::createMergeSlicedOpsPass());
    ir::SplitConcatsPassOptions concats;
    concats.mostOperands = codegen::kMostConcatOperands;
    passes.addPass(ir::createSplitConcatsPass(concats));
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  }
}

void addFusionPipeline(OpPassManager &passes, const PipelineOptions &options) {
  if (!options.target)
    return;
  passes.addNestedPass<func::FuncOp>(codegen::createLowerToKernelsPass(options.target));
  // Equal kernels of the same operands: fusion would copy them into each other's consumers.
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(codegen::createFuseKernelsPass(options.target));
  passes.addPass(createCSEPass());
  // When kernels are what they will be, and equal ones are one: those that read the same.
  passes.addNestedPass<func::FuncOp>(codegen::createFuseSiblingsPass(options.target));
  // The border to scheduling.
  passes.addNestedPass<func::FuncOp>(codegen::createVerifyKernelsPass());
}

} // namespace tcc::compiler
