//===- KernelRewrite.h - merging and simplifying kernels ---------*- C++ -*-===//
#pragma once

#include "ir/Extents.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen {

/// A new kernel before `consumer` that does the work of both; operands of the consumer that the producer makes are read
/// inside. Results: the consumer's, then the producer's that `keep` names. The two kernels stay.
ir::KernelOp mergeKernels(ir::KernelOp producer, ir::KernelOp consumer, llvm::ArrayRef<unsigned> keep);

/// Replaces a load from the result of loops (without reductions) by the loops' body at the loaded indices.
void inlineIntoLoad(ir::LoadOp load);

/// Two loop nests (without reductions) over the same extents become one with the results of both, at the place of the
/// second. The first is read by the second at its own index only, and by nothing in between.
ir::LoopsOp mergeLoops(ir::LoopsOp first, ir::LoopsOp second);

/// Composes index arithmetic into maps, simplifies maps and masks by the ranges of loops, replaces loads of constants
/// of one value, removes what is computed twice or not used, and inputs that nothing reads. The kernel may be replaced:
/// returns the one to use.
ir::KernelOp simplifyKernel(ir::KernelOp kernel);

/// The range of an index value in a loop body: the exclusive upper end (an expression over symbols), or null.
mlir::AffineExpr extentOfIndex(mlir::Value index);

} // namespace tcc::codegen
