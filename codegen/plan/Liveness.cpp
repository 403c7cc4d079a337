//===- Liveness.cpp - live intervals of plan values -----------------------===//
#include "codegen/plan/Liveness.h"

#include <algorithm>

namespace tcc::codegen {
namespace {

template <typename... Ts> struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;

struct Walker {
  struct Loop {
    int32_t begin, end;
  };
  std::vector<Interval> intervals;
  /// For each value, the loops around its first write (as indices into `loops`).
  std::vector<std::vector<int32_t>> definedIn;
  std::vector<Loop> loops;
  std::vector<int32_t> open;
  /// Reads that have to be extended to the end of a loop once that is known.
  std::vector<std::pair<ValueId, int32_t>> extended;
  int32_t position = 0;

  void touch(ValueId value, bool write) {
    if (value < 0)
      return;
    Interval &interval = intervals[value];
    if (interval.begin < 0 && write) {
      interval.begin = position;
      definedIn[value] = open;
    }
    interval.end = std::max(interval.end, position);
    const std::vector<int32_t> &around = definedIn[value];
    for (size_t i = 0; i < open.size(); ++i) {
      if (i < around.size() && around[i] == open[i])
        continue;
      extended.emplace_back(value, open[i]);
      break;
    }
  }

  void walk(const Block &block) {
    for (const Instruction &instruction : block.instructions) {
      forEachRead(instruction, [&](ValueId value) { touch(value, false); });
      forEachWrite(instruction, [&](ValueId value) { touch(value, true); });
      const std::vector<Block> *nested = nestedBlocks(instruction);
      bool isLoop = std::holds_alternative<plan::Loop>(instruction);
      int32_t begin = position++;
      if (!nested)
        continue;
      if (isLoop) {
        open.push_back(static_cast<int32_t>(loops.size()));
        loops.push_back({begin, begin});
      }
      for (const Block &inner : *nested)
        walk(inner);
      if (isLoop) {
        loops[open.back()].end = position;
        open.pop_back();
      }
      // The instruction ends here: what it leaves (scan outputs, the condition) is read after its blocks.
      if (const auto *loop = std::get_if<plan::Loop>(&instruction)) {
        for (const plan::Loop::ScanOutput &scan : loop->scan_outputs) {
          touch(scan.result, true);
          intervals[scan.element].end = std::max(intervals[scan.element].end, position);
        }
      }
      ++position;
    }
  }
};

} // namespace

void forEachRead(const Instruction &instruction, llvm::function_ref<void(ValueId)> visit) {
  std::visit(Overloaded{
                 [&](const plan::View &i) { visit(i.source); },
                 [&](const plan::Launch &i) {
                   for (ValueId value : i.buffers)
                     visit(value);
                 },
                 [&](const plan::DeviceLaunch &i) {
                   for (ValueId value : i.buffers)
                     visit(value);
                 },
                 [&](const plan::Transfer &i) { visit(i.source); },
                 [&](const plan::Library &i) {
                   for (ValueId value : i.inputs)
                     visit(value);
                 },
                 [&](const plan::ReadExtent &i) { visit(i.source); },
                 [&](const plan::ReadElement &i) { visit(i.source); },
                 [&](const plan::Move &i) { visit(i.from); },
                 [&](const plan::If &i) { visit(i.condition); },
                 [&](const plan::Loop &i) {
                   visit(i.trip_count);
                   visit(i.condition);
                 },
                 [&](const auto &) {},
             },
             instruction);
}

void forEachWrite(const Instruction &instruction, llvm::function_ref<void(ValueId)> visit) {
  std::visit(Overloaded{
                 [&](const plan::Allocate &i) { visit(i.result); },
                 [&](const plan::View &i) { visit(i.result); },
                 [&](const plan::MakeTensor &i) { visit(i.result); },
                 [&](const plan::Transfer &i) { visit(i.result); },
                 [&](const plan::Library &i) {
                   for (const plan::Library::Result &result : i.results)
                     visit(result.value);
                 },
                 [&](const plan::Move &i) { visit(i.to); },
                 [&](const plan::Loop &i) { visit(i.iteration); },
                 [&](const auto &) {},
             },
             instruction);
}

std::vector<Block> *nestedBlocks(Instruction &instruction) {
  if (auto *branch = std::get_if<plan::If>(&instruction))
    return &branch->blocks;
  if (auto *loop = std::get_if<plan::Loop>(&instruction))
    return &loop->blocks;
  return nullptr;
}
const std::vector<Block> *nestedBlocks(const Instruction &instruction) {
  return nestedBlocks(const_cast<Instruction &>(instruction));
}

std::vector<Interval> computeIntervals(const Plan &plan) {
  Walker walker;
  walker.intervals.resize(plan.num_values);
  walker.definedIn.resize(plan.num_values);
  walker.walk(plan.body);
  for (auto [value, loop] : walker.extended)
    walker.intervals[value].end = std::max(walker.intervals[value].end, walker.loops[loop].end);
  for (ValueId value : plan.outputs)
    if (value >= 0)
      walker.intervals[value].end = walker.position + 1;
  return std::move(walker.intervals);
}

} // namespace tcc::codegen
