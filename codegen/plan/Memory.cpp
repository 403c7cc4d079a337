//===- Memory.cpp - which values of a plan live where ---------------------===//
#include "codegen/plan/Memory.h"

#include <algorithm>
#include <numeric>

#include "codegen/plan/Liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// How values lie in slots. Kernels of the host may read up to a vector beyond the last element, never write there.
struct SlotLayout {
  int64_t alignment, slack;
};
constexpr SlotLayout layoutOf(Space space) { return space == Space::kDevice ? SlotLayout{256, 0} : SlotLayout{64, 64}; }

/// Values that may share memory, with the union of their intervals.
class Classes {
public:
  Classes(ArrayRef<ValueInfo> values, std::vector<Interval> intervals)
      : values(values), parent(values.size()), interval(std::move(intervals)), escapes(values.size()),
        heap(values.size()) {
    std::iota(parent.begin(), parent.end(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      escapes[i] = values[i].escapes;
      // A value with neither a planned size nor something it views is memory of someone else.
      heap[i] = !values[i].bytes && values[i].aliases.empty();
    }
    for (size_t i = 0; i < values.size(); ++i)
      for (ValueId alias : values[i].aliases)
        join(i, alias);
  }
  int32_t find(int32_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  }
  void join(int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    if (a == b)
      return;
    parent[b] = a;
    interval[a].join(interval[b]);
    escapes[a] = escapes[a] || escapes[b];
    heap[a] = heap[a] || heap[b];
  }
  Interval &getInterval(int32_t i) { return interval[find(i)]; }
  bool isEscaping(int32_t i) { return escapes[find(i)]; }
  bool hasForeignMemory(int32_t i) { return heap[find(i)]; }

private:
  ArrayRef<ValueInfo> values;
  std::vector<int32_t> parent;
  std::vector<Interval> interval;
  std::vector<char> escapes, heap;
};

void forEachInstruction(Block &block, llvm::function_ref<void(Instruction &)> visit) {
  for (Instruction &instruction : block.instructions) {
    visit(instruction);
    if (std::vector<Block> *nested = nestedBlocks(instruction))
      for (Block &inner : *nested)
        forEachInstruction(inner, visit);
  }
}

struct Request {
  plan::Allocate *instruction;
  int64_t bytes = 0; // static ones
  AffineExpr expr;   // dynamic ones
  Interval interval;
};

/// Greedy by size: the biggest first, each in the tightest gap among those placed before that are live at the same
/// time.
int64_t packStatic(std::vector<Request> &requests) {
  std::stable_sort(requests.begin(), requests.end(),
                   [](const Request &a, const Request &b) { return a.bytes > b.bytes; });
  int64_t total = 0;
  std::vector<const Request *> placed; // by offset
  for (Request &request : requests) {
    int64_t best = -1, bestGap = INT64_MAX, end = 0;
    for (const Request *other : placed) {
      if (!other->interval.overlaps(request.interval))
        continue;
      int64_t gap = other->instruction->offset - end;
      if (gap >= request.bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, other->instruction->offset + other->bytes);
    }
    request.instruction->offset = best >= 0 ? best : end;
    total = std::max(total, request.instruction->offset + request.bytes);
    auto where = std::upper_bound(placed.begin(), placed.end(), request.instruction->offset,
                                  [](int64_t offset, const Request *r) { return offset < r->instruction->offset; });
    placed.insert(where, &request);
  }
  return total;
}

/// Dynamic sizes: slots taken in program order; a slot is reused when one of the sizes provably covers the other.
struct DynamicSlot {
  AffineExpr bytes;
  std::vector<Interval> taken;
};

bool covers(AffineExpr large, AffineExpr small, ArrayAttr symbols) {
  if (large == small)
    return true;
  return ir::getValueRange(ir::simplifyExtent(large - small), symbols).first >= 0;
}

void placeDynamic(std::vector<Request> &requests, std::vector<DynamicSlot> &slots, int32_t firstSlot, ArrayAttr symbols,
                  bool reuse) {
  for (Request &request : requests) {
    int32_t chosen = -1;
    bool exact = false;
    for (size_t i = 0; reuse && i < slots.size() && !exact; ++i) {
      bool free =
          llvm::none_of(slots[i].taken, [&](const Interval &other) { return other.overlaps(request.interval); });
      if (!free)
        continue;
      exact = slots[i].bytes == request.expr;
      if (exact || (chosen < 0 &&
                    (covers(slots[i].bytes, request.expr, symbols) || covers(request.expr, slots[i].bytes, symbols))))
        chosen = static_cast<int32_t>(i);
    }
    if (chosen < 0) {
      chosen = static_cast<int32_t>(slots.size());
      slots.push_back({request.expr, {}});
    }
    DynamicSlot &slot = slots[chosen];
    if (!covers(slot.bytes, request.expr, symbols))
      slot.bytes = request.expr;
    slot.taken.push_back(request.interval);
    request.instruction->slot = firstSlot + chosen;
    request.instruction->offset = 0;
  }
}

/// Inserts Release after the last use of heap values.
class Releaser {
public:
  Releaser(const Plan &plan, ArrayRef<ValueInfo> values) : values(values) {
    noRelease.resize(values.size());
    for (ValueId value : plan.inputs)
      if (value >= 0)
        noRelease[value] = true;
    for (ValueId value : plan.outputs)
      if (value >= 0)
        noRelease[value] = true;
    for (const PlanConstant &constant : plan.constants)
      noRelease[constant.value] = true;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].keep)
        noRelease[i] = true;
  }
  void run(Block &block) {
    // Last use of each value that is first written in this block; a use inside a nested block counts for the
    // instruction there.
    DenseMap<ValueId, size_t> last;
    for (size_t i = 0; i < block.instructions.size(); ++i) {
      Instruction &instruction = block.instructions[i];
      forEachWrite(instruction, [&](ValueId value) {
        if (value >= 0 && !noRelease[value] && onHeap(instruction))
          last.try_emplace(value, i);
      });
      auto use = [&](ValueId value) {
        if (auto it = last.find(value); it != last.end())
          it->second = i;
      };
      forEachRead(instruction, use);
      // What both blocks of an If move into is its result: it lives in this block, not only in those.
      if (auto *branch = std::get_if<plan::If>(&instruction))
        for (Block &inner : branch->blocks)
          for (Instruction &nestedInstruction : inner.instructions)
            if (const auto *move = std::get_if<plan::Move>(&nestedInstruction); move && !noRelease[move->to]) {
              last.try_emplace(move->to, i);
              noRelease[move->to] = true;
            }
      if (std::vector<Block> *nested = nestedBlocks(instruction)) {
        for (Block &inner : *nested) {
          forEachInstruction(inner, [&](Instruction &nestedInstruction) {
            forEachRead(nestedInstruction, use);
            forEachWrite(nestedInstruction, use);
          });
          run(inner);
        }
      }
    }
    std::vector<std::vector<ValueId>> after(block.instructions.size());
    for (auto [value, position] : last)
      after[position].push_back(value);
    std::vector<Instruction> result;
    for (size_t i = 0; i < after.size(); ++i) {
      result.push_back(std::move(block.instructions[i]));
      llvm::sort(after[i]);
      for (ValueId value : after[i])
        result.push_back(plan::Release{value});
    }
    block.instructions = std::move(result);
  }

private:
  static bool onHeap(const Instruction &instruction) {
    if (const auto *allocate = std::get_if<plan::Allocate>(&instruction))
      return allocate->slot == plan::kFreshSlot;
    return !std::holds_alternative<plan::Loop>(instruction);
  }
  ArrayRef<ValueInfo> values;
  std::vector<char> noRelease;
};

/// The buffers of an instruction that launches a kernel, else null.
const std::vector<ValueId> *launchBuffers(const Instruction &instruction) {
  if (const auto *launch = std::get_if<plan::Launch>(&instruction))
    return &launch->buffers;
  if (const auto *launch = std::get_if<plan::DeviceLaunch>(&instruction))
    return &launch->buffers;
  return nullptr;
}

/// The first launch that uses each value (its buffers, which stand for it), with its position (numbered as in
/// computeIntervals).
struct FirstLaunch {
  const std::vector<ValueId> *buffers = nullptr;
  int32_t position = -1;
};
void findLaunches(const Block &block, int32_t &position, DenseMap<ValueId, FirstLaunch> &launches) {
  for (const Instruction &instruction : block.instructions) {
    if (const std::vector<ValueId> *buffers = launchBuffers(instruction))
      for (ValueId value : *buffers)
        launches.try_emplace(value, FirstLaunch{buffers, position});
    ++position;
    if (const std::vector<Block> *nested = nestedBlocks(instruction)) {
      for (const Block &inner : *nested)
        findLaunches(inner, position, launches);
      ++position;
    }
  }
}

/// The allocation under a value that covers all of it, or null.
AffineExpr bytesOfRoot(ArrayRef<ValueInfo> values, ValueId value) {
  while (values[value].whole && !values[value].bytes && values[value].aliases.size() == 1)
    value = values[value].aliases.front();
  return values[value].whole ? values[value].bytes : AffineExpr();
}

using Launches = llvm::SmallPtrSet<const std::vector<ValueId> *, 4>;

/// `needless` gets the launches that have nothing left to do.
void reuseInPlace(Plan &plan, const MemoryRequest &request, Classes &classes,
                  DenseMap<ValueId, Instruction *> &allocations, Launches &needless) {
  DenseMap<ValueId, FirstLaunch> launches;
  int32_t position = 0;
  findLaunches(plan.body, position, launches);
  for (const InPlaceCandidate &candidate : request.inPlace) {
    AffineExpr bytes = request.values[candidate.result].bytes;
    Instruction *instruction = allocations.lookup(candidate.result);
    FirstLaunch first = launches.lookup(candidate.result);
    if (!instruction || !first.buffers || classes.find(candidate.result) == classes.find(candidate.source) ||
        classes.getInterval(candidate.source).end != first.position)
      continue;
    // Another operand over the same memory may be read at other indices.
    auto sharesMemory = [&](ValueId value) { return classes.find(value) == classes.find(candidate.source); };
    if (llvm::count_if(*first.buffers, sharesMemory) != 1)
      continue;
    // An input is the caller's, who may give it away.
    if (llvm::is_contained(plan.inputs, candidate.source))
      std::get<plan::Allocate>(*instruction).over = candidate.source;
    if (!bytes || classes.hasForeignMemory(candidate.source) || bytesOfRoot(request.values, candidate.source) != bytes)
      continue;
    auto &allocate = std::get<plan::Allocate>(*instruction);
    plan::View view{allocate.result, candidate.source, allocate.dims, {}, Operand::Imm(0)};
    classes.join(candidate.source, candidate.result);
    allocations.erase(candidate.result);
    *instruction = view;
    if (candidate.onlyCopies)
      needless.insert(first.buffers);
  }
}

void eraseLaunches(Block &block, const Launches &needless) {
  std::vector<Instruction> kept;
  for (Instruction &instruction : block.instructions) {
    if (std::vector<Block> *nested = nestedBlocks(instruction))
      for (Block &inner : *nested)
        eraseLaunches(inner, needless);
    if (const std::vector<ValueId> *buffers = launchBuffers(instruction); !buffers || !needless.contains(buffers))
      kept.push_back(std::move(instruction));
  }
  block.instructions = std::move(kept);
}

/// Gives the allocations in one space their slots.
void assignSlots(Plan &plan, const MemoryRequest &request, Space space, Classes &classes) {
  SlotLayout layout = layoutOf(space);
  std::vector<Request> fixed, dynamic;
  forEachInstruction(plan.body, [&](Instruction &instruction) {
    auto *allocate = std::get_if<plan::Allocate>(&instruction);
    if (!allocate || allocate->space != space)
      return;
    ValueId value = allocate->result;
    if (!request.values[value].bytes || classes.isEscaping(value))
      return;
    Request entry{allocate, 0, request.values[value].bytes, classes.getInterval(value)};
    if (std::optional<int64_t> bytes = ir::getConstant(entry.expr)) {
      entry.bytes = llvm::alignTo(*bytes + layout.slack, layout.alignment);
      fixed.push_back(entry);
    } else {
      dynamic.push_back(entry);
    }
  });
  if (!fixed.empty()) {
    int64_t total = 0;
    if (request.options.reuse) {
      total = packStatic(fixed);
    } else {
      for (Request &entry : fixed) {
        entry.instruction->offset = total;
        total += entry.bytes;
      }
    }
    for (Request &entry : fixed)
      entry.instruction->slot = static_cast<int32_t>(plan.slot_bytes.size());
    plan.slot_bytes.push_back(Operand::Imm(total));
  }
  std::vector<DynamicSlot> slots;
  placeDynamic(dynamic, slots, static_cast<int32_t>(plan.slot_bytes.size()), request.symbols, request.options.reuse);
  for (DynamicSlot &slot : slots)
    plan.slot_bytes.push_back(request.emitAtStart(ir::simplifyExtent(slot.bytes + layout.slack)));
}

} // namespace

void assignMemory(Plan &plan, const MemoryRequest &request) {
  ArrayRef<ValueInfo> values = request.values;
  Classes classes(values, computeIntervals(plan));

  DenseMap<ValueId, Instruction *> allocations;
  forEachInstruction(plan.body, [&](Instruction &instruction) {
    if (auto *allocate = std::get_if<plan::Allocate>(&instruction)) {
      allocations[allocate->result] = &instruction;
    }
  });

  Launches needless;
  if (request.options.inPlace)
    reuseInPlace(plan, request, classes, allocations, needless);

  for (Space space : {Space::kHost, Space::kDevice})
    assignSlots(plan, request, space, classes);

  if (!needless.empty())
    eraseLaunches(plan.body, needless);
  Releaser(plan, values).run(plan.body);
}

std::string findOverlap(const Plan &plan, ArrayRef<int64_t> sizes, ArrayRef<ValueInfo> values) {
  std::vector<Interval> intervals = computeIntervals(plan);
  // A view keeps the memory under it alive.
  std::vector<ValueId> root(plan.num_values);
  std::iota(root.begin(), root.end(), 0);
  struct Placed {
    ValueId value;
    int32_t slot;
    int64_t begin, end;
  };
  std::vector<Placed> placed;
  forEachInstruction(const_cast<Block &>(plan.body), [&](Instruction &instruction) {
    if (auto *allocate = std::get_if<plan::Allocate>(&instruction)) {
      if (allocate->slot >= 0)
        placed.push_back(
            {allocate->result, allocate->slot, allocate->offset, allocate->offset + sizes[allocate->result]});
    } else if (auto *view = std::get_if<plan::View>(&instruction)) {
      root[view->result] = root[view->source];
    } else if (auto *move = std::get_if<plan::Move>(&instruction)) {
      root[move->to] = root[move->from];
    } else if (auto *library = std::get_if<plan::Library>(&instruction)) {
      for (const plan::Library::Result &result : library->results)
        for (ValueId alias : values[result.value].aliases)
          root[result.value] = root[alias];
    }
  });
  for (ValueId value = 0; value < plan.num_values; ++value)
    if (root[value] != value)
      intervals[root[value]].join(intervals[value]);
  for (size_t i = 0; i < placed.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Placed &a = placed[i], &b = placed[j];
      if (a.slot == b.slot && a.begin < b.end && b.begin < a.end && intervals[a.value].overlaps(intervals[b.value]))
        return "values " + std::to_string(b.value) + " and " + std::to_string(a.value) + " share slot " +
               std::to_string(a.slot) + " while both are live";
    }
  }
  return "";
}

} // namespace tcc::codegen
