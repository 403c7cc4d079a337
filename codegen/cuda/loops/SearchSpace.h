//===- SearchSpace.h - what is measured of kernels of loops -------*- C++ -*-===//
//
// | loops                          | threads of a block | times the default, a half and two |
// |--------------------------------|--------------------|-----------------------------------|
// | pointwise                      | 128, 256, 512      | elements of a thread              |
// | reductions                     | 128, 256, 512      | threads that share a result       |
// | several nests over the same    | of rows that take  | threads of a row, of rows that    |
// | rows (softmax, normalisations) | a warp             | take a block                      |
// | scatter, transposed            | as they are        | as they are                       |
//
// All groups of loops of a kernel have the same choice. Where it changes nothing, the text is that of another
// candidate, and is not measured again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>

#include "codegen/cuda/Tuning.h"
#include "ir/Dialect.h"

namespace tcc::codegen::cuda {

struct LoopChoice {
  int threads = 256; ///< of a block
  int shift = 0;     ///< -1: half, 1: twice of what the heuristics say

  int64_t scaled(int64_t value, int64_t least, int64_t most) const {
    int64_t result = shift < 0 ? value / 2 : value << shift;
    return shift == 0 ? value : std::clamp(result, least, most);
  }
};

/// What was measured for the kernel, else the default.
LoopChoice measuredChoice(ir::KernelOp kernel);

ScheduleSpace loopSpace(ir::KernelOp kernel);

} // namespace tcc::codegen::cuda
