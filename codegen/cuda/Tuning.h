//===- Tuning.h - choices that can be measured --------------------*- C++ -*-===//
//
// A schedule that has a choice offers its search space: the tables are in gemm/SearchSpace.h and loops/SearchSpace.h.
// The autotuner measures the candidates and notes the winner on the kernel, where the schedule finds it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/Operation.h"

namespace tcc::codegen {

/// The first number of a choice: what the others mean.
enum class ChoiceKind : int64_t { Product = 1, Attention = 2, Loops = 3, Library = 4 };

/// One way to schedule a kernel.
struct ScheduleCandidate {
  std::vector<int64_t> parameters; ///< empty: what the schedule takes by itself
  std::string text;                ///< for people
};

struct ScheduleSpace {
  std::vector<ScheduleCandidate> candidates; ///< the default first, then the most promising ones; empty: no choice
  std::vector<std::string> pruned;           ///< what was left out, and why
};

/// A kernel's choice, found by measurement: the attribute `tcc.cuda_choice`. Schedules obey it where it fits the kernel
/// and the device, and take their own otherwise: it may come from a file. Empty parameters remove it.
void setChoice(mlir::Operation *kernel, llvm::ArrayRef<int64_t> parameters);
bool hasChoice(mlir::Operation *kernel);
/// Without the kind; nothing where there is none of this kind and length.
std::vector<int64_t> getChoice(mlir::Operation *kernel, ChoiceKind kind, size_t count);

} // namespace tcc::codegen
