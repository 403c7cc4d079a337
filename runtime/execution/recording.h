// Recorded plans: what is left of a plan's instructions once the extents are known.
//
// With given extents most of a plan comes out the same in each call: shape arithmetic, the places of slots, views of
// those, checks. A recording has done all that, in a frame of its own; what remains is a flat list of launches with
// pointers, scalars and numbers of items filled in, between the few instructions that depend on data (library calls,
// control flow) or on the caller's memory (inputs, outputs), which are interpreted as ever. Such memory is looked up
// for the launches that use it.
//
// On a device even less is left: fresh values and what transfers make have places of the recording's, into which inputs
// are copied, and launches with nothing in between are started as one (a CUDA graph) from the second replay on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
  struct DeviceLaunch {
    devices::FunctionHandle* function;
    devices::LaunchShape shape;
    size_t values, count;  // the parameters: index of the first, how many
    size_t lookups_begin, lookups_end;
    std::vector<devices::TensorMap> tensor_maps;  // the shape has a view of them
  };
  struct Action {
    const PreparedPlan::Step* step;
    int64_t launch;              // index in `launches`; negative: the step is interpreted
    int64_t device_launch = -1;  // or index in `device_launches`
  };
  // Launches on the device, one after another with nothing in between, that the device starts as one.
  struct Graph {
    size_t begin, end;  // in `actions`
    devices::GraphHandle* handle;
    bool reports_errors;
  };

  bool ready = false;
  std::vector<Action> actions;
  std::vector<Launch> launches;
  std::vector<void*> pointers;
  std::vector<Lookup> lookups;
  std::vector<int64_t> scalars;
  std::vector<DeviceLaunch> device_launches;
  std::vector<int64_t> device_values;  // parameters
  std::vector<void*> device_params;    // their addresses
  std::vector<Lookup> device_lookups;  // into `device_values`
  std::vector<Graph> graphs;           // ascending
  bool graphs_made = false;            // as far as they can be
};

struct Recording {
  Recording(const PreparedPlan& plan, absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values,
            uint64_t arena_generation);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Whether these are the extents it was recorded for.
  bool Matches(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values) const;
  // Inputs a recording can be made for: all row-major, where kernels can read them. On the plan's device they are
  // copied to memory of the recording.
  static bool CanRecord(const PreparedPlan& plan, absl::Span<const Tensor> inputs);
  // "f32[1,3,224,224], i64[1]", for people.
  static std::string ExtentsText(absl::Span<const Tensor> inputs);

  std::shared_ptr<devices::ComputeDevice> device;  // of the graphs; null for a plan on the host
  std::vector<TensorType> input_types;
  std::vector<int64_t> symbols;
  uint64_t generation;  // of the arena
  Frame frame;
  // Values and registers that are the same in each call.
  std::vector<bool> known_values, known_registers;
  std::vector<RecordedBlock> blocks;  // by program
  std::vector<const void*> places;    // on the device, of its values (DeviceLane::Place)
  bool incomplete = false;            // an error came while a block was being recorded
};

}  // namespace tcc
