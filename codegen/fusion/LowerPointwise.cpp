//===- LowerPointwise.cpp - pointwise ops as loops ------------------------===//
#include "codegen/fusion/Lowering.h"
#include "codegen/fusion/ScalarOps.h"

using namespace mlir;

namespace tcc::codegen {

LoweredValues lowerPointwise(Operation *op, KernelBuilder &kernel) {
  Value result = op->getResult(0);
  bool supported = true;
  Value value = kernel.map(extentsOf(result), elementOf(result), [&](Nest &nest) {
    llvm::SmallVector<Value> scalars;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      scalars.push_back(nest.load(kernel.input(i), nest.dims()));
    Value scalar = emitScalarOp(nest.b, op, scalars);
    supported = scalar != nullptr;
    return supported ? scalar : nest.constantOf(signless(elementOf(result)), 0);
  });
  return supported ? lowered(value) : LoweredValues(failure());
}

} // namespace tcc::codegen
