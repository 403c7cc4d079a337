//===- LowerToKernels.cpp - each level-1 op as a kernel of its own --------===//
#include "codegen/Target.h"
#include "codegen/fusion/Lowering.h"
#include "codegen/fusion/Passes.h"
#include "runtime/logs.h"

namespace tcc::codegen {
#define GEN_PASS_DEF_LOWERTOKERNELSPASS
#include "codegen/fusion/Passes.h.inc"
} // namespace tcc::codegen

using namespace mlir;

namespace tcc::codegen {

LoweredValues lowerOp(Operation *op, KernelBuilder &kernel) {
  if (op->hasTrait<OpTrait::Elementwise>())
    return lowerPointwise(op, kernel);
  return llvm::TypeSwitch<Operation *, LoweredValues>(op)
      .Case<ir::BroadcastOp>([&](auto o) { return lowerBroadcast(o, kernel); })
      .Case<ir::TransposeOp>([&](auto o) { return lowerTranspose(o, kernel); })
      .Case<ir::ReshapeOp>([&](auto o) { return lowerReshape(o, kernel); })
      .Case<ir::SliceOp>([&](auto o) { return lowerSlice(o, kernel); })
      .Case<ir::PadOp>([&](auto o) { return lowerPad(o, kernel); })
      .Case<ir::ConcatOp>([&](auto o) { return lowerConcat(o, kernel); })
      .Case<ir::IotaOp>([&](auto o) { return lowerIota(o, kernel); })
      .Case<ir::GatherOp>([&](auto o) { return lowerGather(o, kernel); })
      .Case<ir::GatherElementsOp>([&](auto o) { return lowerGatherElements(o, kernel); })
      .Case<ir::GatherNdOp>([&](auto o) { return lowerGatherNd(o, kernel); })
      .Case<ir::ScatterElementsOp>([&](auto o) { return lowerScatterElements(o, kernel); })
      .Case<ir::ScatterNdOp>([&](auto o) { return lowerScatterNd(o, kernel); })
      .Case<ir::ReduceOp>([&](auto o) { return lowerReduce(o, kernel); })
      .Case<ir::ArgReduceOp>([&](auto o) { return lowerArgReduce(o, kernel); })
      .Case<ir::SoftmaxOp, ir::LogSoftmaxOp>([&](auto o) { return lowerSoftmax(o, kernel); })
      .Case<ir::LayerNormOp>([&](auto o) { return lowerLayerNorm(o, kernel); })
      .Case<ir::RmsNormOp>([&](auto o) { return lowerRmsNorm(o, kernel); })
      .Case<ir::MaxPoolOp, ir::AvgPoolOp>([&](auto o) { return lowerPool(o, kernel); })
      .Case<ir::ResizeOp>([&](auto o) { return lowerResize(o, kernel); })
      .Case<ir::GridSampleOp>([&](auto o) { return lowerGridSample(o, kernel); })
      .Case<ir::MatmulOp, ir::ConvOp, ir::ConvTransposeOp, ir::AttentionOp>(
          [&](auto o) { return lowerTemplate(o, kernel); })
      .Default([](Operation *) { return LoweredValues(failure()); });
}

namespace {

bool isCandidate(Operation *op) {
  if (!isa_and_nonnull<ir::TCCDialect>(op->getDialect()) || op->getNumRegions() > 0 || op->getNumResults() != 1 ||
      op->hasTrait<OpTrait::ConstantLike>() || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  llvm::SmallVector<Value> tensors(op->getOperands());
  llvm::append_range(tensors, op->getResults());
  for (Value value : tensors)
    if (!isa<RankedTensorType>(value.getType()) || !isKernelElement(elementOf(value)))
      return false;
  return true;
}

struct LowerToKernels : impl::LowerToKernelsPassBase<LowerToKernels> {
  explicit LowerToKernels(Target *target = nullptr) : target(target) {}

  void runOnOperation() override {
    llvm::SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (op->getParentOfType<ir::KernelOp>() || !isCandidate(op) || isa<ir::ReshapeOp>(op))
        return;
      ops.push_back(op);
    });
    auto stays = [](Operation *op, const char *why) {
      if (tcc::LogEnabled("fusion"))
        tcc::Log("fusion", sourceName(op) + " stays a library call: " + why);
    };
    bool changed = false;
    for (Operation *op : ops) {
      if (isa<ir::MatmulOp, ir::ConvOp, ir::ConvTransposeOp>(op) && isa<IntegerType>(elementOf(op->getResult(0))) &&
          !(target && target->multipliesIntegers())) {
        stays(op, "the target does not multiply integers");
        continue;
      }
      KernelBuilder kernel(op);
      LoweredValues values = lowerOp(op, kernel);
      if (failed(values)) {
        kernel.erase();
        stays(op, "it has no form as loops, for these types and attributes");
        continue;
      }
      kernel.finish(*values);
      if (target && !target->canCompile(kernel.get())) {
        stays(op, "the target has no schedule for it");
        kernel.erase();
        continue;
      }
      op->replaceAllUsesWith(kernel.get());
      op->erase();
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }

  Target *target;
};

} // namespace

std::unique_ptr<Pass> createLowerToKernelsPass(Target *target) { return std::make_unique<LowerToKernels>(target); }

} // namespace tcc::codegen
