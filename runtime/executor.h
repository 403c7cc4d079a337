// Runs plans.
//
// A PreparedPlan is a plan with its functions and kernels looked up and its constants mapped: immutable, shared by any
// number of threads. An ExecutionContext is what one call at a time needs: values, registers, memory slots, recordings.
// A session keeps as many contexts as calls run at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/code_object.h"
#include "runtime/devices/device.h"
#include "runtime/devices/images.h"
#include "runtime/plan.h"
#include "runtime/reference/reference.h"
#include "runtime/run_options.h"
#include "runtime/tensor.h"
#include "runtime/thread_pool.h"

namespace tcc {

class DeviceConstants;

class PreparedPlan {
 public:
  struct Options {
    // Where library calls find their kernels; null: the reference kernels.
    reference::Kernel (*find)(std::string_view op) = nullptr;
    // For plans with values on a device: where they are, the kernels, and who compiles those that have no code for it.
    std::shared_ptr<devices::ComputeDevice> device = nullptr;
    std::vector<KernelImageView> images = {};
    // Equal for plans whose constants are equal, byte for byte: on a device they share them. Empty: for those at one
    // address.
    std::string constants_identity = {};
    devices::CompileImages compile = nullptr;  // null: whoever is registered (devices/images.h)
  };

  // `constants` are the bytes of the constants entry, kept alive by `owner`; 64-byte aligned. `code` may be null for a
  // plan without launches. Kernels are loaded onto the device, and the constants they use copied there. Errors: an
  // invalid plan, a function the code does not have, an op without a kernel, a constant outside the bytes, a plan that
  // writes to a constant, no device or code for it.
  static absl::StatusOr<std::shared_ptr<const PreparedPlan>> Create(Plan plan, std::shared_ptr<const CodeObject> code,
                                                                    std::string_view constants,
                                                                    std::shared_ptr<const void> owner,
                                                                    const Options& options);
  static absl::StatusOr<std::shared_ptr<const PreparedPlan>> Create(Plan plan, std::shared_ptr<const CodeObject> code,
                                                                    std::string_view constants = {},
                                                                    std::shared_ptr<const void> owner = nullptr) {
    return Create(std::move(plan), std::move(code), constants, std::move(owner), Options());
  }

  ~PreparedPlan();
  PreparedPlan(const PreparedPlan&) = delete;
  PreparedPlan& operator=(const PreparedPlan&) = delete;

  const Plan& plan() const { return plan_; }
  // Null for a plan that runs on the host alone.
  const std::shared_ptr<devices::ComputeDevice>& device() const { return device_; }

 private:
  friend class ExecutionContext;
  friend class PlanPreparer;
  friend struct Frame;
  friend struct RecordedBlock;
  friend struct Recording;

  enum class Kind : uint8_t;
  struct Program;
  // An instruction with what was looked up for it.
  struct Step {
    Kind kind;
    bool is_static = false;             // the result is the same in each call: set once
    const void* instruction = nullptr;  // into plan_
    TccKernelFunction function = nullptr;
    reference::Kernel kernel = nullptr;
    devices::FunctionHandle* device_function = nullptr;
    int32_t error_word = -1;  // of a launch that reports errors
    const Program* blocks[2] = {nullptr, nullptr};
  };

  PreparedPlan();

  Plan plan_;
  std::shared_ptr<const CodeObject> code_;
  std::shared_ptr<const void> owner_;
  std::vector<std::pair<ValueId, Tensor>> constants_;
  std::vector<std::unique_ptr<Program>> programs_;  // the first is the body
  std::vector<ValueId> outputs_;                    // where the graph outputs are when the body is done
  std::vector<int32_t> output_of_value_;            // index of the graph output that a value is, or -1
  std::vector<ValueId> dropped_;                    // values that do not live on to the next call
  // How many instructions set a value, a register (255: so many or more).
  std::vector<uint8_t> value_writes_, register_writes_;
  std::vector<std::vector<int32_t>> donations_;  // by output: see FindDonations
  std::vector<int32_t> overwrites_;              // likewise
  size_t max_buffers_ = 0;

  // Of plans with values on a device.
  std::shared_ptr<devices::ComputeDevice> device_;
  std::unique_ptr<devices::LoadedImages> images_;
  std::vector<Space> slot_spaces_;
  std::vector<bool> input_on_host_;       // by input: something on the host reads it
  std::vector<std::string> error_names_;  // by error word: the launch that has it
  size_t max_params_ = 0;
  std::shared_ptr<const DeviceConstants> device_constants_;  // null: none
};

struct Recording;
class DeviceLane;

// Not thread-safe: one call at a time.
class ExecutionContext {
 public:
  // `pool` must outlive the context; null: ThreadPool::Global(). `max_recordings` > 0: the first call with some extents
  // records the plan, later calls with the same extents replay what is left of it (execution/recording.h), with the
  // same results; on a device launches with nothing in between become graphs. So many recordings are kept, the least
  // recently used one goes first; where extents hardly ever come back the context records few calls. Calls with inputs
  // that are not row-major are not recorded. `lane`: memory on the plan's device that it shares with contexts of other
  // plans, none of which runs at the same time; null: its own.
  explicit ExecutionContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool = nullptr,
                            int max_recordings = 0, std::shared_ptr<DeviceLane> lane = nullptr);
  ~ExecutionContext();
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;

  // `inputs`: one per graph input, on the host or on the plan's device, any strides, invalid where absent; the guards
  // must have been checked.
  // `symbols`: the values of the specialisation's symbols. The results are row-major, and the caller's: they share
  // memory with neither constants nor the context, nor with inputs that are not donated; they are on the host, except
  // in memory of the caller's that is not, and where the options want them on the device; and done when this returns.
  // (`options.context` is for who chooses a context: it means nothing here.) Floating-point control state is set for
  // the call and restored. Errors name the launch or library call. After an error the context can be used again.
  // `checked`: the caller knows of all tensors that Tensor::Check has nothing against them.
  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols, const RunOptions& options,
                   std::vector<Tensor>* outputs, bool checked = false);
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols = {}) {
    std::vector<Tensor> outputs;
    absl::Status status = Run(inputs, symbols, RunOptions(), &outputs);
    if (!status.ok()) return status;
    return outputs;
  }

  // Bytes of slot memory held, on the host and, where that is its own, on the device. May be asked while a call runs.
  int64_t arena_bytes() const;

  // Calls so far that made a recording, and that found one. The others were interpreted.
  struct Statistics {
    int64_t recorded = 0;
    int64_t replayed = 0;
  };
  const Statistics& statistics() const;

 private:
  class Runner;
  struct State;
  Recording* FindRecording(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols);
  void NotRecorded(const std::string& why);
  std::unique_ptr<State> state_;
};

}  // namespace tcc
