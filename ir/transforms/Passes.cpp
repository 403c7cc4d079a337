//===- Passes.cpp - registration of the passes ------------------------------===//
#include "ir/transforms/Passes.h"

namespace tcc::ir {

void registerPasses() { registerTccIrPasses(); }

} // namespace tcc::ir
