//===- SearchSpace.h - what is measured of kernels around a template op -*- C++ -*-===//
//
// Products (matmul, conv, conv_transpose): the tiles of SearchSpace.cpp, one table for each kind of product, times the
// parts of k that they may be divided into:
//
// | parameter        | tensor cores (mma)            | float32, int32    | float64          |
// |------------------|-------------------------------|-------------------|------------------|
// | tile m x n       | 16x64 to 256x128, 64x256      | 16x64 to 128x128  | 16x32 to 64x64   |
// | step along k     | 32, 64 elements of 16 bits    | 8, 16, 32         | 8, 16            |
// | stages           | 2 to 5                        | 3, 4              | 3                |
// | warps (threads)  | 2 to 8 warps                  | 16 to 64 results  | 16 results of a  |
// |                  |                               | of a thread       | thread           |
// | parts of k       | 1, 2, 3, 4, 6, 8, 12, 16, where extents have bounds and a part has 4 steps    |
//
// 16-bit floats that lie along k have wgmma on sm_90a besides: 64x64 to 128x128, 64 of k, 3 to 6 stages; and those
// whose lines (along k or along rows) start at multiples of 16 bytes, with TMA: 64x64 to 128x256, 3 to 8 stages. Calls
// of cuBLASLt: codegen/cuda/extern/CublasLt.h.
//
// Attention: warps of a block (1, 2, 4, 8) times keys at a time (16, 32, 64, 128).
//
// Pruned before anything is compiled: what does not fit the device's shared memory, takes more registers than a thread
// has, or has tiles of which more than three quarters would be empty. Of the rest the most promising ones are kept, as
// the model of Tiles.cpp ranks them, and at most two ways to divide k for each tile.
// Afterwards, by the assembler's report: compiler/autotune/Prune.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/Tuning.h"
#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/cuda/gemm/Tiles.h"
#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::cuda {

inline constexpr int64_t kAttentionWarps[] = {1, 2, 4, 8};
inline constexpr int64_t kAttentionKeys[] = {16, 32, 64, 128};

/// The tiles of the tables for such elements.
std::vector<GemmTiles> tilesFor(const GemmElements &elements);
/// As ScheduleCandidate has it.
std::vector<int64_t> parametersOf(const GemmChoice &choice);

/// Candidates of products, most promising first, the default among them. `shape` is what is known for all calls, `here`
/// that of the call at hand. `pruned`: see ScheduleSpace.
std::vector<GemmChoice> productSpace(const GemmShape &shape, const GemmShape &here, const GemmElements &elements,
                                     const CudaDescription &device, std::vector<std::string> *pruned = nullptr);
ScheduleSpace attentionSpace(const gemm::TemplateKernel &kernel, const CudaDescription &device);

/// For CudaTemplate::space.
ScheduleSpace templateSpace(ir::KernelOp kernel, const CudaDescription &device, llvm::ArrayRef<int64_t> symbols,
                            const ScheduleOptions &options);

/// What was measured for the kernel, if it is of the tables and fits the device and the product.
std::optional<GemmChoice> measuredTiles(ir::KernelOp kernel, const GemmShape &shape, const GemmElements &elements,
                                        const CudaDescription &device);

} // namespace tcc::codegen::cuda
