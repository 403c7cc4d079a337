//===- FoldConstants.cpp - ops on constant weights --------------------------===//
//
// While a graph is built only small constants fold. This pass folds what is left: transposed, reshaped, cast and scaled
// weights.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Folding.h"
#include "ir/transforms/Passes.h"

namespace tcc::ir {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;

  void runOnOperation() override {
    bool changed = false;
    // Operands come before their uses, so that one walk folds whole chains.
    getOperation()->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
      if (llvm::isa<KernelOp>(op))
        return mlir::WalkResult::skip();
      if (llvm::isa_and_nonnull<TCCDialect>(op->getDialect()) && fold(op))
        changed = true;
      return mlir::WalkResult::advance();
    });
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  /// Replaces the uses of `op` by constants. The op itself is left to dead code elimination.
  bool fold(mlir::Operation *op) {
    if (op->hasTrait<mlir::OpTrait::ConstantLike>() || op->getNumRegions() != 0 || op->getNumOperands() == 0 ||
        op->use_empty() || !mlir::isPure(op))
      return false;
    llvm::SmallVector<mlir::Attribute> operands;
    for (mlir::Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!constant)
        return false;
      operands.push_back(constant.getValue());
    }
    llvm::SmallVector<mlir::OpFoldResult> results;
    if (mlir::failed(foldConstants(op, operands, results, maxElements)))
      return false;
    mlir::OpBuilder builder(op);
    for (auto [result, value] : llvm::zip(op->getResults(), results)) {
      auto elements = llvm::dyn_cast_if_present<mlir::ElementsAttr>(llvm::dyn_cast_if_present<mlir::Attribute>(value));
      if (!elements || elements.getShapedType() != result.getType())
        return false;
    }
    for (auto [result, value] : llvm::zip(op->getResults(), results))
      result.replaceAllUsesWith(builder.create<ConstantOp>(
          op->getLoc(), result.getType(), llvm::cast<mlir::ElementsAttr>(llvm::cast<mlir::Attribute>(value))));
    return true;
  }
};

} // namespace
} // namespace tcc::ir
