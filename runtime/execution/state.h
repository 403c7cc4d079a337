// What an execution context holds: the values and registers of a plan, and the memory they lie in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/execution/arena.h"
#include "runtime/execution/device_state.h"
#include "runtime/executor.h"
#include "runtime/plan_program.h"
#include "runtime/tensor.h"

namespace tcc {

enum ValueFlags : uint8_t {
  kSet = 1,
  kContiguous = 2,  // row-major and aligned to its elements: can be handed to a kernel
  kArena = 4,       // in slot memory: valid until the slot is used again
  kForeign = 8,     // memory that is not the call's: of the caller's inputs, of constants, of a recording
  kStatic = 16,     // stays as it is from call to call
};

bool IsAligned(const Tensor& tensor);

// Values and registers, by id. `data` and `flags` repeat what launches need of the tensors, densely.
struct Frame {
  // With the plan's constants set.
  explicit Frame(const PreparedPlan& plan);

  std::vector<Tensor> values;
  std::vector<void*> data;
  std::vector<uint8_t> flags;
  std::vector<const void*> writer;  // of static values: the instruction that set them
  std::vector<int64_t> registers;

  void Set(ValueId value, Tensor tensor, uint8_t value_flags) {
    const auto index = static_cast<size_t>(value);
    data[index] = tensor.data();
    flags[index] = static_cast<uint8_t>(value_flags | kSet);
    values[index] = std::move(tensor);
  }
  // For a tensor whose layout is not known to be a kernel's.
  void SetAny(ValueId value, Tensor tensor, uint8_t value_flags) {
    if (tensor.is_contiguous() && IsAligned(tensor)) value_flags |= kContiguous;
    Set(value, std::move(tensor), value_flags);
  }
  // Lets go of a value, unless it lives on from call to call.
  void Drop(ValueId value) {
    const auto index = static_cast<size_t>(value);
    if (flags[index] & kStatic) return;
    flags[index] = 0;
    if (values[index].storage() != nullptr) values[index] = Tensor();
  }
  bool IsSet(ValueId value) const { return (flags[static_cast<size_t>(value)] & kSet) != 0; }
  const Tensor& Get(ValueId value) const { return values[static_cast<size_t>(value)]; }
  uint8_t Flags(ValueId value) const { return flags[static_cast<size_t>(value)]; }

  int64_t Eval(const Operand& operand) const {
    return operand.is_register ? registers[static_cast<size_t>(operand.value)] : operand.value;
  }
  Dims Eval(const std::vector<Operand>& operands) const {
    Dims dims(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) dims[i] = Eval(operands[i]);
    return dims;
  }
};

struct Recording;

struct ExecutionContext::State {
  // `shared`: null where a plan for a device shares its memory there with no other.
  State(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool, int max_recordings,
        std::shared_ptr<DeviceLane> shared);
  ~State();

  uint64_t generation() const { return arena.generation() + (lane == nullptr ? 0 : lane->arena.generation()); }
  Arena& ArenaOf(Space space) { return space == Space::kHost ? arena : lane->arena; }

  std::shared_ptr<const PreparedPlan> plan;
  ThreadPool* pool;
  Arena arena;
  const bool owns_lane;
  std::shared_ptr<DeviceLane> lane;     // null for a plan on the host alone
  std::unique_ptr<DeviceState> device;  // null until a call has been made
  Frame frame;                          // of calls that are not recorded
  uint64_t frame_generation = 0;        // of the slots that its static values lie in
  int max_recordings;
  std::vector<std::unique_ptr<Recording>> recordings;  // the last used one first
  Statistics statistics;
  int64_t recording_debt = 0;  // see FindRecording
  std::string not_recorded;    // why the last call was not, as it was logged
  // Of the launch or library call being run.
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
  std::vector<Tensor> arguments;
  std::vector<TensorType> result_types;
  int64_t kernel_error = kTccKernelOk;
};

}  // namespace tcc
