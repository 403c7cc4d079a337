// What an execution context holds: the values and registers of a plan, and the memory they lie in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/execution/device_state.h"
#include "runtime/executor.h"
#include "runtime/plan_program.h"
#include "runtime/tensor.h"

namespace tcc {

// More than any machine has, and far from where sums of sizes overflow.
inline constexpr int64_t kMaxBytes = int64_t{1} << 56;

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

// The memory slots of a plan: kept between calls, grown when a call needs more. On the host, or on a device.
class Arena {
 public:
  explicit Arena(size_t slots, std::shared_ptr<devices::ComputeDevice> device = nullptr)
      : slots_(slots), device_(std::move(device)) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Memory for `bytes` at `offset` in a slot whose size in this call is `size()`. `may_change`: it may be another one
  // later in the same call.
  template <typename Size>
  absl::StatusOr<char*> Get(int32_t slot, int64_t offset, int64_t bytes, bool may_change, Size size) {
    Slot& s = slots_[static_cast<size_t>(slot)];
    if (!s.ready || may_change) {
      if (absl::Status status = Resize(slot, size()); !status.ok()) return status;
    }
    if (offset > s.size || bytes > s.size - offset) return DoesNotFit(slot, offset, bytes);
    return static_cast<char*>(s.memory) + offset;
  }
  // From now on the slot's address is written down somewhere.
  void Pin(int32_t slot) { slots_[static_cast<size_t>(slot)].pinned = true; }
  // Differs from what it was if the address of a pinned slot changed.
  uint64_t generation() const { return generation_; }

  // After a call: memory that was replaced goes.
  void EndCall();

  // Of all slots. May be asked from another thread than the call's.
  int64_t bytes() const { return bytes_; }
  // Of one slot, as it is.
  int64_t capacity(int32_t slot) const { return slots_[static_cast<size_t>(slot)].capacity; }

 private:
  struct Slot {
    void* memory = nullptr;
    int64_t capacity = 0;
    int64_t size = 0;    // in this call
    bool ready = false;  // `size` is known in this call
    bool pinned = false;
  };
  absl::Status Resize(int32_t slot, int64_t size);
  absl::StatusOr<void*> Allocate(int64_t bytes);
  void Free(void* memory, int64_t bytes);
  absl::Status DoesNotFit(int32_t slot, int64_t offset, int64_t bytes) const;

  std::vector<Slot> slots_;
  std::vector<std::pair<void*, int64_t>> retired_;  // memory that this call may still refer to, and its size
  std::shared_ptr<devices::ComputeDevice> device_;
  uint64_t generation_ = 0;
  std::atomic<int64_t> bytes_{0};
};

struct Recording;

struct ExecutionContext::State {
  State(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool, int max_recordings);
  ~State();

  uint64_t generation() const { return arena.generation() + device_arena.generation(); }

  std::shared_ptr<const PreparedPlan> plan;
  ThreadPool* pool;
  Arena arena, device_arena;
  std::unique_ptr<DeviceState> device;  // null until a call has been made
  Frame frame;                          // of calls that are not recorded
  int max_recordings;
  std::vector<std::unique_ptr<Recording>> recordings;  // the last used one first
  Statistics statistics;
  int64_t recording_debt = 0;  // see FindRecording
  // Of the launch or library call being run.
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
  std::vector<Tensor> arguments;
  std::vector<TensorType> result_types;
  int64_t kernel_error = kTccKernelOk;
};

}  // namespace tcc
