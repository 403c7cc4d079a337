//===- SearchSpace.cpp - what is measured of kernels of loops -------------===//
#include "codegen/cuda/loops/SearchSpace.h"

namespace tcc::codegen::cuda {

static constexpr int kThreads[] = {256, 128, 512};
static constexpr int kShifts[] = {0, 1, -1};

LoopChoice measuredChoice(ir::KernelOp kernel) {
  std::vector<int64_t> choice = getChoice(kernel, ChoiceKind::Loops, 2);
  if (choice.empty() || !llvm::is_contained(kThreads, choice[0]) || !llvm::is_contained(kShifts, choice[1]))
    return {};
  return {static_cast<int>(choice[0]), static_cast<int>(choice[1])};
}

ScheduleSpace loopSpace(ir::KernelOp kernel) {
  // (What a scatter writes to is copied first: that is no loop of its own.)
  if (!kernel.getBody().getOps<ir::ScatterOp>().empty())
    return {};
  ScheduleSpace space;
  for (int shift : kShifts)
    for (int threads : kThreads) {
      if (space.candidates.empty()) {
        space.candidates.push_back({{}, "default"});
        continue;
      }
      const char *share = shift == 0 ? "" : shift > 0 ? ", twice the share" : ", half the share";
      space.candidates.push_back(
          {{static_cast<int64_t>(ChoiceKind::Loops), threads, shift}, std::to_string(threads) + " threads" + share});
    }
  return space;
}

} // namespace tcc::codegen::cuda
