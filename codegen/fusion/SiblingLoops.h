//===- SiblingLoops.h - nests side by side that read the same ----*- C++ -*-===//
//
// Two nests over the same points that load the same elements, and of which neither needs the other, are cheaper as one
// nest with the results of both: each element is loaded once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Extents.h"

namespace tcc::codegen {

/// Bytes, where extents may be symbols.
struct Bytes {
  double likely = 0; ///< symbols as schedules guess them: 64, within their range
  double most = 0;   ///< symbols at the end of their range
};
Bytes bytesOf(mlir::Type type, mlir::ArrayAttr symbols);

/// How many outer loops the nests of a kernel share when it is scheduled: those of its rows where it has reductions and
/// other nests beside them, else none.
unsigned rowRank(ir::KernelOp kernel);

/// Whether all loads are at indices that the loops give, everywhere: what is masked, gathered or checked is scheduled
/// for its own sake.
bool isPlain(ir::LoopsOp loops);

/// Bytes that both nests load through equal maps, and would load once as one nest. 0 where they are no match: other
/// extents or combiners, a body that is masked, gathers or reports, values of other widths. The nests may be those of
/// different kernels: inputs of these are compared, not arguments.
Bytes sharedBytes(ir::LoopsOp a, ir::LoopsOp b);

/// Whether the two as one nest, the first `rowsTogether` dimensions of which are loops around all nests of a kernel,
/// are vectorised as well as each of them is alone (with `rowsA` and `rowsB` such dimensions).
bool vectorizesTogether(ir::LoopsOp a, unsigned rowsA, ir::LoopsOp b, unsigned rowsB, unsigned rowsTogether);

/// Merges nests of the kernel of which neither needs the other and which load the same. Whether there were any; the
/// kernel is then to be simplified.
bool mergeSiblingLoops(ir::KernelOp kernel);

/// Results of nests that are the same reduction, or the same value, as another of the nest are read there. Whether
/// there were any.
bool mergeEqualResults(ir::KernelOp kernel);

/// Most results of one nest, and of a kernel of siblings: each is a stream to memory, or (a reduction) four registers.
constexpr unsigned kMostSiblingResults = 4;

} // namespace tcc::codegen
