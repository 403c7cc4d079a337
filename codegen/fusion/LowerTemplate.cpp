//===- LowerTemplate.cpp - contractions stay ops inside a kernel ----------===//
#include "codegen/fusion/Lowering.h"

using namespace mlir;

namespace tcc::codegen {

LoweredValues lowerTemplate(Operation *op, KernelBuilder &kernel) {
  // Element types lose their sign inside kernels: only floats keep their meaning, and int32, which wraps.
  for (Value operand : op->getOperands()) {
    Type element = elementOf(operand);
    if (!isa<FloatType>(element) && !element.isInteger(1) &&
        (!element.isSignlessInteger(32) || isa<ir::AttentionOp>(op)))
      return failure();
  }
  IRMapping mapping;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    mapping.map(operand, kernel.input(i));
  Operation *inner = kernel.builder().clone(*op, mapping);
  return lowered(inner->getResult(0));
}

} // namespace tcc::codegen
