//===- KernelRewrite.h - merging and simplifying kernels ---------*- C++ -*-===//
#pragma once

#include "ir/Extents.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen {

/// A new kernel before `place` (`consumer` by default) that does the work of both; operands of the consumer that the
/// producer makes are read inside. Results: the consumer's, then the producer's that `keep` names. The two kernels
/// stay.
ir::KernelOp mergeKernels(ir::KernelOp producer, ir::KernelOp consumer, llvm::ArrayRef<unsigned> keep,
                          mlir::Operation *place = nullptr);

/// Replaces a load from the result of loops (without reductions) by the loops' body at the loaded indices.
void inlineIntoLoad(ir::LoadOp load);

/// Two loop nests over the same extents, with as many reductions, become one with the results of both, the second's
/// first, at the place of the second: the caller sees to it that nothing in between reads the first. The second may
/// read the first at its own index, if they are no reductions.
ir::LoopsOp mergeLoops(ir::LoopsOp first, ir::LoopsOp second);

/// Composes index arithmetic into maps, simplifies maps and masks by the ranges of loops, replaces loads of constants
/// of one value, removes what is computed twice or not used, and inputs that nothing reads. The kernel may be replaced:
/// returns the one to use.
ir::KernelOp simplifyKernel(ir::KernelOp kernel);

/// The range of an index value in a loop body: the exclusive upper end (an expression over symbols), or null.
mlir::AffineExpr extentOfIndex(mlir::Value index);

} // namespace tcc::codegen
