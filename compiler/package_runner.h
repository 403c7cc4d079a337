// Runs packages, with the runtime alone: no compiler, no model file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"
#include "runtime/package.h"
#include "runtime/tensor_info.h"

namespace tcc {

// Recorded plans that a context holds at a time, in the modes that record.
inline constexpr int kMaxRecordings = 8;

// Contexts for the calls of one session to its device, as many as run at once. Any plan of the session takes one that
// is idle, so that what all of them have on the device together is what the largest needs. Thread-safe.
class DeviceContexts {
 public:
  // An idle one, or a new one.
  std::unique_ptr<RunContext> Take();
  void GiveBack(std::unique_ptr<RunContext> context);
  // Lets idle ones go, with all their memory; whether there were any.
  bool Clear();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunContext>> idle_;  // guarded by mutex_
};

// A plan with the contexts its calls need: as many as run at once; between calls at most as many as there are CPUs
// (DefaultThreadCount) stay. Thread-safe.
class PlanRunner {
 public:
  // `contexts`: for a plan that runs on a device.
  PlanRunner(std::shared_ptr<const PreparedPlan> plan, bool records, std::shared_ptr<DeviceContexts> contexts)
      : plan_(std::move(plan)), max_recordings_(records ? kMaxRecordings : 0), contexts_(std::move(contexts)) {}
  // The tensors have been checked (CheckTensors).
  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols, const RunOptions& options,
                   std::vector<Tensor>* outputs);

 private:
  absl::Status RunIn(RunContext& context, absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                     const RunOptions& options, std::vector<Tensor>* outputs);
  absl::Status RunOnDevice(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                           const RunOptions& options, std::vector<Tensor>* outputs);

  std::shared_ptr<const PreparedPlan> plan_;
  const int max_recordings_;
  const std::shared_ptr<DeviceContexts> contexts_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ExecutionContext>> idle_;  // guarded by mutex_
};

// Whether the mode that a package was compiled in records plans: `reduce-overhead` and `max-autotune`, which on a GPU
// replay graphs.
bool RecordsPlans(const Package& package);

// InvalidArgument unless a caller gave memory for as many outputs as there are.
absl::Status CheckOutputCount(size_t given, size_t outputs);

// InvalidArgument, by name, for tensors of the caller that cannot be read or written (Tensor::Check). Asked once a
// call: guards already read values.
absl::Status CheckTensors(absl::Span<const Tensor> inputs, const std::function<std::string(size_t)>& name_of_input,
                          absl::Span<const Tensor> outputs);

// What all specialisations of a package together take and return.
void DescribePackage(const Package& package, std::vector<TensorInfo>* inputs, std::vector<TensorInfo>* outputs);

// The specialisations of one package. Thread-safe.
class PackageRunner {
 public:
  static absl::StatusOr<std::unique_ptr<PackageRunner>> Open(const std::string& path,
                                                             const Package::OpenOptions& options = {});

  const Package& package() const { return *package_; }

  // Missing inputs at the end count as absent. InvalidArgument where no specialisation takes the inputs.
  absl::Status Run(absl::Span<const Tensor> inputs, const RunOptions& options, std::vector<Tensor>* outputs);

 private:
  explicit PackageRunner(std::shared_ptr<const Package> package)
      : package_(std::move(package)), runners_(static_cast<size_t>(package_->size())) {}
  absl::StatusOr<PlanRunner*> Runner(int index);

  std::shared_ptr<const Package> package_;
  const std::shared_ptr<DeviceContexts> contexts_ = std::make_shared<DeviceContexts>();
  std::shared_mutex mutex_;
  std::vector<std::unique_ptr<PlanRunner>> runners_;  // by specialisation, made at first use; guarded by mutex_
};

}  // namespace tcc
