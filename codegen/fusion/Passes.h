//===- Passes.h - passes from level 1 to kernels -----------------*- C++ -*-===//
#pragma once

#include <memory>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace tcc::codegen {

class Target;

/// Operands of a concatenation that is a kernel. Each element tests where it comes from: with more of them that costs
/// more than a copy of each.
constexpr unsigned kMostConcatOperands = 16;

#define GEN_PASS_DECL
#include "codegen/fusion/Passes.h.inc"

/// With a target, only kernels that it can compile are made; without one, all. The target must outlive the pass and is
/// asked from one thread at a time.
std::unique_ptr<mlir::Pass> createLowerToKernelsPass(Target *target);
std::unique_ptr<mlir::Pass> createFuseKernelsPass(Target *target, FuseKernelsPassOptions options = {});
std::unique_ptr<mlir::Pass> createFuseSiblingsPass(Target *target, FuseSiblingsPassOptions options = {});

#define GEN_PASS_REGISTRATION
#include "codegen/fusion/Passes.h.inc"

} // namespace tcc::codegen
