#include "compiler/package_runner.h"

#include "absl/strings/str_cat.h"
#include "runtime/cpu_count.h"
#include "runtime/run_context.h"
#include "runtime/status.h"

namespace tcc {

namespace {

// A burst of calls does not keep its memory for good.
size_t MostIdle() {
  static const auto most = static_cast<size_t>(DefaultThreadCount());
  return most;
}

}  // namespace

std::unique_ptr<RunContext> DeviceContexts::Take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<RunContext>();
  std::unique_ptr<RunContext> context = std::move(idle_.back());
  idle_.pop_back();
  return context;
}

void DeviceContexts::GiveBack(std::unique_ptr<RunContext> context) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < MostIdle()) idle_.push_back(std::move(context));
}

bool DeviceContexts::Clear() {
  std::vector<std::unique_ptr<RunContext>> idle;
  const std::lock_guard lock(mutex_);
  idle.swap(idle_);
  return !idle.empty();
}

absl::Status PlanRunner::RunIn(RunContext& context, absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                               const RunOptions& options, std::vector<Tensor>* outputs) {
  RunContext::State& own = *context.state_;
  const RunContext::State::Use use(own);
  if (!use.allowed()) {
    return absl::FailedPreconditionError("the run context is in use by another call: take one for each");
  }
  return own.For(plan_, max_recordings_).Run(inputs, symbols, options, outputs, /*checked=*/true);
}

absl::Status PlanRunner::RunOnDevice(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                                     const RunOptions& options, std::vector<Tensor>* outputs) {
  std::unique_ptr<RunContext> context = contexts_->Take();
  const bool holds_memory = context->arena_bytes() > 0;
  absl::Status status = RunIn(*context, inputs, symbols, options, outputs);
  if (absl::IsResourceExhausted(status)) {
    // What earlier calls left on the device goes; once it has, this one may do. (One that could have written to memory
    // of the caller is not made twice.)
    context.reset();
    const bool went = contexts_->Clear() || holds_memory;
    if (!went || !options.outputs.empty() || !options.donated.empty()) return status;
    context = contexts_->Take();
    status = RunIn(*context, inputs, symbols, options, outputs);
    if (absl::IsResourceExhausted(status)) return status;
  }
  contexts_->GiveBack(std::move(context));
  return status;
}

absl::Status PlanRunner::Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                             const RunOptions& options, std::vector<Tensor>* outputs) {
  if (options.context != nullptr) return RunIn(*options.context, inputs, symbols, options, outputs);
  if (plan_->device() != nullptr) return RunOnDevice(inputs, symbols, options, outputs);
  std::unique_ptr<ExecutionContext> context;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      context = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (context == nullptr) context = std::make_unique<ExecutionContext>(plan_, nullptr, max_recordings_);
  absl::Status status = context->Run(inputs, symbols, options, outputs, /*checked=*/true);
  std::lock_guard lock(mutex_);
  if (idle_.size() < MostIdle()) idle_.push_back(std::move(context));
  return status;
}

absl::Status CheckOutputCount(size_t given, size_t outputs) {
  if (given == outputs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there are ", outputs, " outputs, memory was given for ", given));
}

absl::Status CheckTensors(absl::Span<const Tensor> inputs, const std::function<std::string(size_t)>& name_of_input,
                          absl::Span<const Tensor> outputs) {
  // "input 'x' is no valid tensor (...)", "input 'x': data is null"
  const auto named = [](const std::string& name, const Tensor& tensor, const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(name, tensor.valid() ? ": " : " ", status.message()));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const absl::Status status = inputs[i].Check(); !status.ok()) {
      return named(absl::StrCat("input '", name_of_input(i), "'"), inputs[i], status);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (const absl::Status status = outputs[i].Check(); !status.ok()) {
      return named(absl::StrCat("memory for output ", i), outputs[i], status);
    }
  }
  return absl::OkStatus();
}

bool RecordsPlans(const Package& package) {
  const auto mode = package.options().find("mode");
  return mode != package.options().end() && (mode->second == "reduce-overhead" || mode->second == "max-autotune");
}

absl::StatusOr<std::unique_ptr<PackageRunner>> PackageRunner::Open(const std::string& path,
                                                                   const Package::OpenOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Package> package, Package::Open(path, options));
  if (package->size() == 0) return absl::InvalidArgumentError(path + ": the package holds no specialisation");
  return std::unique_ptr<PackageRunner>(new PackageRunner(std::move(package)));
}

absl::StatusOr<PlanRunner*> PackageRunner::Runner(int index) {
  const auto at = static_cast<size_t>(index);
  {
    std::shared_lock lock(mutex_);
    if (runners_[at] != nullptr) return runners_[at].get();
  }
  std::unique_lock lock(mutex_);
  if (runners_[at] == nullptr) {
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedPlan> plan, Package::Prepare(package_, index));
    runners_[at] = std::make_unique<PlanRunner>(std::move(plan), RecordsPlans(*package_), contexts_);
  }
  return runners_[at].get();
}

absl::Status PackageRunner::Run(absl::Span<const Tensor> inputs, const RunOptions& options,
                                std::vector<Tensor>* outputs) {
  const auto& declared = package_->signature(0).inputs;
  const auto name = [&](size_t i) { return i < declared.size() ? declared[i].name : absl::StrCat(i); };
  TCC_RETURN_IF_ERROR(CheckTensors(inputs, name, options.outputs));
  std::vector<Tensor> padded;
  const size_t expected = package_->signature(0).inputs.size();
  if (inputs.size() < expected) {
    padded.assign(inputs.begin(), inputs.end());
    padded.resize(expected);
    inputs = padded;
  }
  std::vector<int64_t> symbols;
  TCC_ASSIGN_OR_RETURN(const int index, package_->Select(inputs, &symbols));
  TCC_ASSIGN_OR_RETURN(PlanRunner* const runner, Runner(index));
  return runner->Run(inputs, symbols, options, outputs);
}

}  // namespace tcc
