//===- ElementTypes.cpp ---------------------------------------------------===//
#include "codegen/schedule/ElementTypes.h"

using namespace mlir;

namespace tcc::codegen {

bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

Type signless(Type element) {
  auto integer = llvm::dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

Type computeType(Type element) { return isHalf(element) ? Float32Type::get(element.getContext()) : signless(element); }

Type storageType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : signless(element);
}

} // namespace tcc::codegen
