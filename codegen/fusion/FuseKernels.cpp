//===- FuseKernels.cpp - merges kernels with their producers --------------===//
#include "codegen/Target.h"
#include "codegen/fusion/FusionRules.h"
#include "codegen/fusion/KernelInfo.h"
#include "codegen/fusion/KernelRewrite.h"
#include "codegen/fusion/Lowering.h"
#include "codegen/fusion/Passes.h"
#include "runtime/logs.h"

namespace tcc::codegen {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "codegen/fusion/Passes.h.inc"
} // namespace tcc::codegen

using namespace mlir;

namespace tcc::codegen {
namespace {

struct FuseKernels : impl::FuseKernelsPassBase<FuseKernels> {
  using FuseKernelsPassBase::FuseKernelsPassBase;
  FuseKernels(Target *target, FuseKernelsPassOptions options) : FuseKernelsPassBase(options), target(target) {}

  void runOnOperation() override {
    rules.target = target;
    rules.maxInputs = maxInputs;
    rules.maxOps = maxOps;
    llvm::SmallVector<ir::KernelOp> kernels;
    getOperation().walk([&](ir::KernelOp kernel) { kernels.push_back(kernel); });
    for (ir::KernelOp kernel : kernels)
      simplifyKernel(kernel);
    // In program order: producers have taken in theirs before.
    for (ir::KernelOp kernel : kernels)
      fuseProducers(kernel);
    eraseDead();
  }

  void fuseProducers(ir::KernelOp kernel) {
    for (bool changed = true; changed;) {
      changed = false;
      // Producers nearest to the kernel first: what lies between is then gone.
      llvm::SmallVector<Operation *> producers;
      for (Value input : kernel.getInputs()) {
        Operation *op = input.getDefiningOp();
        if (op && op->getBlock() == kernel->getBlock() && isa<ir::KernelOp, ir::ReshapeOp>(op) &&
            !llvm::is_contained(producers, op))
          producers.push_back(op);
      }
      llvm::stable_sort(producers, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
      for (Operation *producer : producers) {
        ir::KernelOp fused;
        llvm::SmallVector<Operation *> sources = {producer};
        if (isa<ir::ReshapeOp>(producer))
          sources.push_back(producer->getOperand(0).getDefiningOp());
        if (auto other = dyn_cast<ir::KernelOp>(producer))
          fused = tryFuse(other, kernel, kernel, nullptr);
        else
          fused = tryThroughReshape(cast<ir::ReshapeOp>(producer), kernel);
        if (!fused)
          continue;
        // A producer that nothing needs any more must not count as a reader of its own producers.
        llvm::SmallPtrSet<Operation *, 8> erased;
        for (Operation *source : sources)
          if (!erased.contains(source))
            eraseIfDead(source, erased);
        kernel = fused;
        changed = true;
        break;
      }
    }
  }

  /// The kernel behind a reshape fuses together with the reshape, or not at all: alone, the reshape is a view and costs
  /// nothing.
  ir::KernelOp tryThroughReshape(ir::ReshapeOp reshape, ir::KernelOp kernel) {
    auto producer = reshape.getX().getDefiningOp<ir::KernelOp>();
    if (!producer || producer->getBlock() != kernel->getBlock())
      return {};
    KernelBuilder view(reshape);
    LoweredValues values = lowerReshape(reshape, view);
    if (failed(values)) {
      view.erase();
      return {};
    }
    ir::KernelOp viewKernel = view.finish(*values);
    // The kernel as it would read the producer itself.
    OpBuilder b(kernel);
    auto copy = cast<ir::KernelOp>(b.clone(*kernel));
    for (OpOperand &operand : copy->getOpOperands())
      if (operand.get() == reshape.getY())
        operand.set(viewKernel.getResult(0));
    ir::KernelOp merged = mergeKernels(viewKernel, copy, {});
    copy.erase();
    viewKernel.erase();
    rules.inlineLoops(merged);
    merged = simplifyKernel(merged);
    ir::KernelOp fused = tryFuse(producer, merged, kernel, reshape);
    merged.erase();
    return fused;
  }

  /// Fuses `producer` into `consumer`, which stands for `original` (and is itself no part of the program where they
  /// differ, having looked through `reshape`). On success the original is replaced, and gone.
  ir::KernelOp tryFuse(ir::KernelOp producer, ir::KernelOp consumer, ir::KernelOp original, ir::ReshapeOp reshape) {
    // Who else needs what the producer makes.
    bool reshapeDies = reshape && llvm::all_of(reshape->getUsers(), [&](Operation *user) { return user == original; });
    llvm::SmallVector<unsigned> others;
    bool othersAfter = true;
    for (OpResult result : producer->getResults()) {
      bool used = false;
      for (Operation *user : result.getUsers()) {
        if (user == original || user == consumer || (user == reshape && reshapeDies))
          continue;
        used = true;
        Operation *ancestor = original->getBlock()->findAncestorOpInBlock(*user);
        othersAfter = othersAfter && ancestor && original->isBeforeInBlock(ancestor);
      }
      if (used)
        others.push_back(result.getResultNumber());
    }
    FusionPlan plan = rules.decide(producer, consumer, !others.empty(), othersAfter);
    if (plan == FusionPlan::No) {
      log("not fused: ", producer, original);
      return {};
    }
    bool keepsResults = plan == FusionPlan::MergeAndKeep;
    ir::KernelOp merged =
        mergeKernels(producer, consumer, keepsResults ? ArrayRef<unsigned>(others) : ArrayRef<unsigned>());
    rules.inlineLoops(merged);
    merged = simplifyKernel(merged);
    // (The reason of decide() stays where accept() agrees.)
    if (!rules.accept(merged, producer, consumer)) {
      log("not fused: ", producer, original);
      merged.erase();
      return {};
    }
    log("fused: ", producer, original);
    unsigned numResults = original.getNumResults();
    if (merged->getBlock() == original->getBlock())
      merged->moveBefore(original);
    original->replaceAllUsesWith(merged->getResults().take_front(numResults));
    if (keepsResults)
      for (auto [i, result] : llvm::enumerate(others))
        producer.getResult(result).replaceAllUsesExcept(merged.getResult(numResults + i), consumer);
    if (consumer != original)
      original.erase();
    else
      consumer.erase();
    return merged;
  }

  void eraseIfDead(Operation *op, llvm::SmallPtrSetImpl<Operation *> &erased) {
    if (!op || !isa<ir::KernelOp, ir::ReshapeOp>(op) || !op->use_empty())
      return;
    llvm::SmallSetVector<Operation *, 8> operands;
    for (Value operand : op->getOperands())
      operands.insert(operand.getDefiningOp());
    erased.insert(op);
    op->erase();
    for (Operation *operand : operands)
      if (!erased.contains(operand))
        eraseIfDead(operand, erased);
  }

  void eraseDead() {
    llvm::SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<ir::KernelOp, ir::ReshapeOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && (isa<ir::KernelOp>(op) || !op->getParentOfType<ir::KernelOp>()))
        op->erase();
  }

  void log(const char *what, ir::KernelOp producer, ir::KernelOp consumer) {
    if (tcc::LogEnabled("fusion"))
      tcc::Log("fusion", what + nameOf(producer) + " into " + nameOf(consumer) + ": " + rules.why().str());
  }

  Target *target = nullptr;
  FusionRules rules;
};

} // namespace

std::unique_ptr<Pass> createFuseKernelsPass(Target *target, FuseKernelsPassOptions options) {
  return std::make_unique<FuseKernels>(target, options);
}

} // namespace tcc::codegen
