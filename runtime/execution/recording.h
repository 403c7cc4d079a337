// Recorded plans: what is left of a plan's instructions once the extents are known.
//
// With given extents most of a plan comes out the same in each call: shape arithmetic, the places of slots, views of
// those, checks. A recording has done all that, in a frame of its own; what remains is a flat list of launches with
// pointers, scalars and numbers of items filled in, between the few instructions that depend on data (library calls,
// control flow) or on the caller's memory (inputs, outputs), which are interpreted as ever. Such memory is looked up
// for the launches that use it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/execution/state.h"

namespace tcc {

// One block of the plan, recorded when it is first reached: what a branch not taken would do is never asked.
struct RecordedBlock {
  struct Lookup {
    size_t pointer;  // index in `pointers`
    ValueId value;
  };
  struct Launch {
    TccKernelFunction function;
    size_t pointers;  // index of the first
    size_t lookups_begin, lookups_end;
    size_t scalars;  // index of the first
    int64_t items, grain, scratch_bytes;
  };
  struct Action {
    const PreparedPlan::Step* step;
    int64_t launch;  // index in `launches`; negative: the step is interpreted
  };

  bool ready = false;
  std::vector<Action> actions;
  std::vector<Launch> launches;
  std::vector<void*> pointers;
  std::vector<Lookup> lookups;
  std::vector<int64_t> scalars;
};

struct Recording {
  Recording(const PreparedPlan& plan, absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values,
            uint64_t arena_generation);

  // Whether these are the extents it was recorded for.
  bool Matches(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values) const;
  // Inputs a recording can be made for: all row-major, where kernels can read them.
  static bool CanRecord(absl::Span<const Tensor> inputs);

  std::vector<TensorType> input_types;
  std::vector<int64_t> symbols;
  uint64_t generation;  // of the arena
  Frame frame;
  // Values and registers that are the same in each call.
  std::vector<bool> known_values, known_registers;
  std::vector<RecordedBlock> blocks;  // by program
};

}  // namespace tcc
