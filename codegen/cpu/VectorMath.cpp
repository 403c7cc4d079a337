//===- VectorMath.cpp - math functions without a C library ----------------===//
#include "codegen/cpu/VectorMath.h"

namespace tcc::codegen {

void expandMath(mlir::Operation *root) {}

} // namespace tcc::codegen
