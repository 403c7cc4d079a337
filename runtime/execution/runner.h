// One call of a plan.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/execution/recording.h"
#include "runtime/execution/state.h"

namespace tcc {

class ExecutionContext::Runner {
 public:
  using Step = PreparedPlan::Step;
  using Kind = PreparedPlan::Kind;
  using Program = PreparedPlan::Program;

  // `recording`: what to replay, or to record where it is not ready; null: everything is interpreted. `checked`: as
  // ExecutionContext::Run has it.
  Runner(State& state, Recording* recording, const RunOptions& options, bool checked)
      : s_(state),
        f_(recording != nullptr ? recording->frame : state.frame),
        recording_(recording),
        prepared_(*state.plan),
        options_(options),
        checked_(checked) {}

  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols, std::vector<Tensor>* outputs);
  // After the call, successful or not: lets go of what does not live on.
  void Finish();
  // What a plan takes on its device, added to the error that there is not so much.
  absl::Status WithMemoryReport(const absl::Status& status) const;

 private:
  absl::Status NotSet(ValueId value) const;
  // Static values of calls that are not recorded, where a plan that shares the memory has moved it.
  void RefreshFrame();

  // Inputs and outputs: inputs_outputs.cpp.
  absl::Status SetInputs(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols);
  absl::Status CheckTensor(const Tensor& tensor) const { return checked_ ? absl::OkStatus() : tensor.Check(); }
  absl::Status CheckDonated(absl::Span<const Tensor> inputs);
  absl::Status CheckCallerOutputs(absl::Span<const Tensor> inputs);
  const Tensor* CallerMemory(size_t output, const TensorType& type, Space space) const;
  Tensor TakeDonated(size_t output, const TensorType& type);
  bool IsFree(size_t output, int input, bool same) const;
  absl::Status TakeOutputs(std::vector<Tensor>* outputs);
  bool IsDirect(size_t i, const Tensor& tensor) const;
  // Whether kernels of the plan can use memory there.
  bool IsHere(Device device) const {
    return device == Device{} || (prepared_.device_ != nullptr && device == prepared_.device_->id());
  }

  // Interpreting: interpret.cpp.
  absl::Status Execute(const Program& program);
  absl::Status Execute(const Step& step);
  template <typename Function>
  absl::Status Profiled(const Step& step, Function run) {
    if (options_.profile == nullptr) return run();
    if (step.kind == Kind::kDeviceLaunch || step.kind == Kind::kTransfer) return ProfiledOnDevice(step, run);
    const int64_t start = Now();
    absl::Status status = run();
    if (status.ok()) Report(step, start, Now());
    return status;
  }
  void Report(const Step& step, int64_t start, int64_t end) const;
  static int64_t Now();

  // Shape arithmetic and tensors: tensors.cpp.
  absl::Status Do(const plan::Compute& i);
  absl::Status Do(const plan::Allocate& i, const Step& step);
  absl::Status Do(const plan::View& i, const Step& step);
  absl::Status Do(const plan::MakeTensor& i);
  absl::Status Do(const plan::ReadExtent& i);
  absl::Status Do(const plan::ReadElement& i);
  absl::Status Do(const plan::CheckEqual& i);
  absl::Status Do(const plan::Move& i);
  absl::Status AllocateFresh(const plan::Allocate& i);
  absl::Status AllocateInSlot(const plan::Allocate& i);
  absl::Status MakeView(const plan::View& i);
  bool IsCurrent(ValueId value, const void* instruction) const;
  void MarkStatic(ValueId value, const void* instruction);
  bool LooksAtSource(const plan::View& i) const;

  // Kernels: launch.cpp.
  absl::Status Do(const plan::Launch& i, const Step& step);
  absl::Status Do(const plan::Library& i, const Step& step);
  absl::Status Launch(TccKernelFunction function, void* const* buffers, const int64_t* scalars, int64_t items,
                      int64_t grain, int64_t scratch, const plan::Launch& i);
  static absl::Status KernelError(int64_t code, const std::string& name);
  absl::Status MakeContiguous(ValueId value);
  absl::Status SetResult(ValueId value, const TensorType& expected, Tensor tensor);

  // Devices: device.cpp.
  absl::Status StartDevice();
  absl::Status Do(const plan::DeviceLaunch& i, const Step& step);
  absl::Status Do(const plan::Transfer& i);
  absl::StatusOr<int32_t*> CountersFor(const plan::DeviceLaunch& i, int64_t count);
  // What the launch's tensor maps are in this call.
  void EvalTensorMaps(const plan::DeviceLaunch& i, std::vector<devices::TensorMap>& maps) const;
  // Whether the buffers that they start at are where maps can start.
  bool CanMap(const plan::DeviceLaunch& i) const;
  // Of those that are not, the launch that is being made gets copies.
  absl::Status AlignMapped(const plan::DeviceLaunch& i);
  absl::Status LaunchOnDevice(devices::FunctionHandle* function, const devices::LaunchShape& shape,
                              absl::Span<void*> params, const plan::DeviceLaunch& i);
  absl::Status WaitForDevice();
  // Before the host reads a value: what is being copied there has come.
  absl::Status HostIsReady() { return host_pending_ ? WaitForDevice() : absl::OkStatus(); }
  void AbandonDevice();
  absl::StatusOr<Tensor> ToHost(const Tensor& source);
  absl::Status CopyToDevice(const Tensor& source, void* memory);
  absl::StatusOr<Tensor> CloneValue(const Tensor& source);
  absl::Status FetchOutputs();
  // device_memory.cpp
  absl::StatusOr<Tensor> AllocateOnDevice(DType dtype, const Dims& dims);
  absl::StatusOr<Tensor> StaysOnDevice(size_t output);
  absl::StatusOr<char*> SlotMemory(const plan::Allocate& i, int64_t bytes);
  absl::Status ProfiledOnDevice(const Step& step, const std::function<absl::Status()>& run);

  // Control flow: control_flow.cpp.
  absl::Status Do(const plan::If& i, const Step& step);
  absl::Status Do(const plan::Loop& i, const Program& body);
  absl::StatusOr<int64_t> Scalar(ValueId value);

  // Recordings: recording.cpp.
  absl::Status Replay(const Program& program);
  absl::Status Replay(RecordedBlock& block, const RecordedBlock::Launch& launch, const plan::Launch& i);
  // On a device: device_recording.cpp.
  absl::Status Replay(RecordedBlock& block, const RecordedBlock::DeviceLaunch& launch, const plan::DeviceLaunch& i);
  void MakeGraphs(RecordedBlock& block);
  absl::Status Start(const RecordedBlock& block, const RecordedBlock::Graph& graph);
  class Recorder;

  State& s_;
  Frame& f_;
  Recording* recording_;
  const PreparedPlan& prepared_;
  const RunOptions& options_;
  const bool checked_;
  std::vector<bool> direct_;  // by output: kernels may write to the caller's memory
  bool overlapping_ = false;
  std::vector<std::pair<int, Tensor>> donated_;  // inputs whose memory is there to be taken
  int loop_depth_ = 0;
  devices::StreamHandle* stream_ = nullptr;  // of this call
  bool device_busy_ = false;                 // something was put on it since the last wait
  bool errors_possible_ = false;             // among it a launch that reports errors
  bool host_pending_ = false;                // among it a copy to the host
  std::vector<Tensor> in_flight_;            // what is being copied, until the next wait
  std::vector<Tensor> fetched_;              // by output: see FetchOutputs; empty: nothing
};

}  // namespace tcc
