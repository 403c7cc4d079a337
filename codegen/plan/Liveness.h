//===- Liveness.h - live intervals of plan values ----------------*- C++ -*-===//
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tcc::codegen {

/// Values that an instruction itself reads and writes (not those in its nested blocks).
void forEachRead(const Instruction &instruction, llvm::function_ref<void(ValueId)> visit);
void forEachWrite(const Instruction &instruction, llvm::function_ref<void(ValueId)> visit);
/// The nested blocks of an instruction (null: none).
std::vector<Block> *nestedBlocks(Instruction &instruction);
const std::vector<Block> *nestedBlocks(const Instruction &instruction);

/// Positions number all instructions in program order, a nested block after the instruction that holds it. A value read
/// in a loop that it was not defined in is live until the end of that loop.
struct Interval {
  int32_t begin = -1; ///< position of the first write; -1: never written (inputs, constants)
  int32_t end = -1;   ///< position of the last read or write
  bool overlaps(const Interval &other) const { return begin <= other.end && other.begin <= end; }
  void join(const Interval &other) {
    if (other.begin >= 0)
      begin = begin < 0 ? other.begin : std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};
std::vector<Interval> computeIntervals(const Plan &plan);

} // namespace tcc::codegen
