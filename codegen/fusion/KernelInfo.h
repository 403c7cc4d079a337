//===- KernelInfo.h - what fusion asks about a kernel ------------*- C++ -*-===//
#pragma once

#include "ir/Extents.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen {

/// What a person knows a kernel by: its first and last sources. "[node 'a' (Conv) .. node 'd' (Relu), 4 ops]".
std::string nameOf(ir::KernelOp kernel);

/// The one template op of a kernel, or null.
mlir::Operation *getTemplate(ir::KernelOp kernel);
/// The one tcc.scatter of a kernel, or null.
ir::ScatterOp getScatter(ir::KernelOp kernel);
bool hasReduction(ir::KernelOp kernel);
/// All loop nests, in order.
llvm::SmallVector<ir::LoopsOp> getLoops(ir::KernelOp kernel);
/// One nest without reductions that only moves elements of one tensor: a view, or a pad.
bool isDataMovement(ir::KernelOp kernel);
/// One nest without reductions.
bool isPointwise(ir::KernelOp kernel);

/// The work of one iteration of a nest: a transcendental function counts 8, loads 1 each.
struct BodyCost {
  unsigned flops = 0;
  unsigned loads = 0;
  bool checks = false; ///< reports bad indices: may not be skipped or moved to where it is not needed
};
BodyCost bodyCost(ir::LoopsOp loops);
/// All scalar ops of a kernel.
unsigned countOps(ir::KernelOp kernel);

/// Iterations of a nest, as a number (symbols by their smallest value).
double iterations(ir::LoopsOp loops);

/// How a load walks through memory as the innermost loop advances.
enum class Walk { Invariant, Contiguous, Strided };
Walk walkOf(ir::LoadOp load);

} // namespace tcc::codegen
