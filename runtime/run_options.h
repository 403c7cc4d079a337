// How one call of a compiled model is run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/types/span.h"
#include "runtime/export.h"
#include "runtime/tensor.h"

namespace tcc {

class ExecutionContext;
class PreparedPlan;

// One executed instruction, times of a monotonic clock in nanoseconds.
struct ProfileEvent {
  std::string_view name;  // of the launch or library call ("node 'conv1' (Conv)"); valid during the hook
  std::string_view kind;  // "launch", "library", "loop", ...
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
using ProfileHook = std::function<void(const ProfileEvent&)>;

// What a call needs besides inputs and outputs: memory for temporaries, recorded plans. Without one a call takes a
// context that is idle, or makes one; with one of its own a caller decides where that memory is held, and until when.
// One call at a time: a second one fails. May be used for any number of models.
class TCC_API RunContext {
 public:
  RunContext();
  ~RunContext();
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  // Bytes of memory for temporaries. May be asked from any thread, also while a call uses the context.
  int64_t arena_bytes() const;

 private:
  friend class PlanRunner;
  struct State;
  std::unique_ptr<State> state_;
};

// Read during the call alone; what it points to must live and stay as it is so long.
struct RunOptions {
  // One entry per output, or none at all. A valid tensor is memory of the caller that receives the output: it must have
  // the output's dtype and extents, any strides (on a device, that of the model, row-major). It may overlap inputs,
  // which is how state (a KV cache) is updated in its place: the call then computes elsewhere and copies at the end,
  // except where the input is donated and not read any more by then, or exactly the output's memory and read by what
  // makes the output alone.
  absl::Span<const Tensor> outputs = {};
  // Called after each instruction, on the thread of the call, which it delays. It must not throw.
  const ProfileHook* profile = nullptr;
  // Indices of inputs whose memory the call may use as it likes: what is in it afterwards is not said, and an output of
  // the same dtype and extents may be returned in it. Each counts once, however often it is named. Inputs that share
  // memory with others are left alone.
  absl::Span<const int> donated = {};
  // Null: one of the model's own. FailedPrecondition where another call is using it.
  RunContext* context = nullptr;
  // Of a CUDA target: a CUstream, on which the call does everything; null: one of the model's own, which is ordered
  // with no other (the legacy default stream, null for CUDA and PyTorch, is CU_STREAM_LEGACY here: (void*)1).
  // InvalidArgument for code that runs on the host, or on a device that has no streams of the caller's.
  void* stream = nullptr;
  // Outputs that the model computes on a device, and for which no memory is given, stay there (Tensor::device) instead
  // of coming to the host. Their memory goes back to the model for later calls when the last copy of the tensor goes:
  // what uses it must be done by then.
  bool outputs_on_device = false;
};

}  // namespace tcc
