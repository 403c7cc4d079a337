//===- Passes.h - passes on the tensor level of the tcc dialect -*- C++ -*-===//
//
// See Passes.td for what each pass does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

#include "mlir/Pass/Pass.h"

namespace tcc::ir {

#define GEN_PASS_DECL
#include "ir/transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ir/transforms/Passes.h.inc"

/// Makes the passes known to command lines (tcc-opt).
void registerPasses();

} // namespace tcc::ir
