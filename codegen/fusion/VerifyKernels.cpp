//===- VerifyKernels.cpp - what schedules rely on -------------------------===//
#include "codegen/fusion/IndexSimplify.h"
#include "codegen/fusion/KernelBuilder.h"
#include "codegen/fusion/KernelRewrite.h"
#include "codegen/fusion/Passes.h"

namespace tcc::codegen {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "codegen/fusion/Passes.h.inc"
} // namespace tcc::codegen

using namespace mlir;

namespace tcc::codegen {
namespace {

struct VerifyKernels : impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](ir::KernelOp kernel) {
      return succeeded(verifyKernel(kernel)) ? WalkResult::skip() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verifyKernel(ir::KernelOp kernel) {
    int templates = 0;
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      if (auto loops = dyn_cast<ir::LoopsOp>(op)) {
        if (failed(verifyLoops(loops)))
          return failure();
        continue;
      }
      if (auto scatter = dyn_cast<ir::ScatterOp>(op)) {
        if (failed(verifyScatter(scatter)))
          return failure();
        continue;
      }
      if (!isa<ir::MatmulOp, ir::ConvOp, ir::ConvTransposeOp, ir::AttentionOp>(op))
        return op.emitError("is neither tcc.loops nor a template op: it cannot be in a kernel");
      if (++templates > 1)
        return op.emitError("is a second template op in one kernel");
    }
    for (Value argument : kernel.getBody().getArguments()) {
      Type element = cast<RankedTensorType>(argument.getType()).getElementType();
      if (!isKernelElement(element) || signless(element) != element)
        return kernel.emitError("the body sees elements of type ")
               << element << ": they must be signless and of a type that kernels compute on";
    }
    return success();
  }

  /// What is scattered into and the updates with their positions are made by nests of their own, for nothing else.
  LogicalResult verifyScatter(ir::ScatterOp scatter) {
    auto into = scatter.getInto().getDefiningOp<ir::LoopsOp>(),
         points = scatter.getUpdates().getDefiningOp<ir::LoopsOp>();
    if (!into || into.getNumResults() != 1 || !into->hasOneUse())
      return scatter.emitError("scatters into what is not the only result of loops that nothing else reads");
    if (!points || points == into || points.getNumReductions() != 0 ||
        llvm::any_of(points->getUsers(), [&](Operation *user) { return user != scatter; }))
      return scatter.emitError("has updates that are not made by loops without reductions that nothing else reads");
    for (Value position : scatter.getPositions())
      if (position.getDefiningOp() != points)
        return scatter.emitError("has positions that the loops of its updates do not make");
    return success();
  }

  LogicalResult verifyLoops(ir::LoopsOp loops) {
    if (llvm::all_of(loops->getUsers(), [](Operation *) { return false; }))
      return loops.emitError("computes what nothing reads");
    WalkResult result = loops.getBody().walk(
        [&](ir::LoadOp load) { return succeeded(verifyLoad(load)) ? WalkResult::advance() : WalkResult::interrupt(); });
    return failure(result.wasInterrupted());
  }

  /// An index that is known to be outside for some iteration is an error; one that cannot be decided is not.
  LogicalResult verifyLoad(ir::LoadOp load) {
    if (load.getMask())
      return success();
    llvm::SmallVector<AffineExpr> extents;
    bool empty = false;
    for (Value index : load.getIndices()) {
      extents.push_back(extentOfIndex(index));
      empty = empty || !extents.back() || ir::getConstant(extents.back()) == 0;
    }
    if (empty)
      return success();
    IndexRanges ranges(extents, ir::getSymbols(load));
    for (auto [axis, pair] :
         llvm::enumerate(llvm::zip_equal(load.getMap().getResults(), ir::getExtents(load.getTensor().getType())))) {
      auto [expr, extent] = pair;
      if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
        std::optional<int64_t> limit = ir::getConstant(extent);
        if (constant.getValue() < 0 || (limit && constant.getValue() >= *limit))
          return load.emitError("reads index ")
                 << constant.getValue() << " of axis " << axis << ", which is outside of it";
      }
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        AffineExpr over = extents[dim.getPosition()] - extent - 1;
        if (ranges.isNonNegative(over))
          return load.emitError("reads beyond the end of axis ") << axis;
      }
    }
    return success();
  }
};

} // namespace
} // namespace tcc::codegen
