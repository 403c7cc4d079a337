//===- Pipeline.cpp - which passes run, and in which order ----------------===//
#include "compiler/pipeline/Pipeline.h"

#include "ir/transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tcc::compiler {

void addSimplifyPipeline(OpPassManager& passes, const PipelineOptions& options) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Views first: the patterns below look through none.
  passes.addPass(ir::createSimplifyViewsPass());
  passes.addPass(ir::createRecognizeNormalizationPass());
  passes.addPass(ir::createRecognizeSoftmaxPass());
  passes.addPass(ir::createRecognizeAttentionPass());
  passes.addPass(ir::createFoldScaleIntoWeightsPass());
  // Only generated convolutions gain from it.
  if (options.target) passes.addPass(ir::createPropagateChannelsLastPass());
  // What the passes above left behind.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void addFusionPipeline(OpPassManager& passes, const PipelineOptions& options) {
  (void)passes;
  (void)options;
}

}  // namespace tcc::compiler
