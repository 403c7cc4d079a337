//===- ConvertPrecision.cpp - contractions on narrower floats ---------------===//
//
// What --precision=bf16|f16 means: matrix products, convolutions and attention take and give the narrower type and
// accumulate in float32; what lies between them is computed in float32. Weights are then stored in the narrower type,
// and so is an activation wherever it only feeds a contraction.
//
//===----------------------------------------------------------------------===//
#include "ir/OpSupport.h"
#include "ir/transforms/Passes.h"

namespace tcc::ir {
#define GEN_PASS_DEF_CONVERTPRECISIONPASS
#include "ir/transforms/Passes.h.inc"

namespace {

struct ConvertPrecisionPass : impl::ConvertPrecisionPassBase<ConvertPrecisionPass> {
  using ConvertPrecisionPassBase::ConvertPrecisionPassBase;

  void runOnOperation() override {
    mlir::Type narrow;
    if (type == "bf16")
      narrow = mlir::BFloat16Type::get(&getContext());
    else if (type == "f16")
      narrow = mlir::Float16Type::get(&getContext());
    else {
      getOperation()->emitError("type must be bf16 or f16, not '") << type << "'";
      return signalPassFailure();
    }
    llvm::SmallVector<mlir::Operation *> contractions;
    getOperation()->walk([&](mlir::Operation *op) {
      if (llvm::isa<MatmulOp, ConvOp, ConvTransposeOp, AttentionOp>(op) &&
          tensorType(op->getResult(0)).getElementType().isF32())
        contractions.push_back(op);
    });
    for (mlir::Operation *op : contractions)
      convert(op, narrow);
  }

private:
  static void convert(mlir::Operation *op, mlir::Type narrow) {
    mlir::OpBuilder builder(op);
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      auto from = tensorType(operand.get());
      // A float mask keeps its type: it is added to float32 scores.
      if (auto attention = llvm::dyn_cast<AttentionOp>(op); attention && operand.get() == attention.getMask())
        continue;
      operand.set(builder.createOrFold<CastOp>(op->getLoc(), withElementType(from, narrow), operand.get()));
    }
    mlir::Value result = op->getResult(0);
    auto wide = tensorType(result);
    result.setType(withElementType(wide, narrow));
    builder.setInsertionPointAfter(op);
    auto back = builder.create<CastOp>(op->getLoc(), wide, result);
    result.replaceAllUsesExcept(back, back);
  }
};

} // namespace
} // namespace tcc::ir
