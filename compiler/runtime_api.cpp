#include "compiler/include/tcc/runtime.h"
#include "compiler/package_runner.h"
#include "runtime/status.h"

namespace tcc {

struct LoadedPackage::State {
  std::unique_ptr<PackageRunner> runner;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> input_names, output_names;
};

absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path) { return LoadPackage(path, PackageOptions()); }

absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path, const PackageOptions& options) {
  auto state = std::make_shared<LoadedPackage::State>();
  TCC_ASSIGN_OR_RETURN(state->runner, PackageRunner::Open(path, {.device = options.device}));
  DescribePackage(state->runner->package(), &state->inputs, &state->outputs);
  for (const TensorInfo& input : state->inputs) state->input_names.push_back(input.name);
  for (const TensorInfo& output : state->outputs) state->output_names.push_back(output.name);
  return LoadedPackage(std::move(state));
}

absl::StatusOr<std::vector<Tensor>> LoadedPackage::operator()(absl::Span<const Tensor> inputs,
                                                              const RunOptions& options) const {
  std::vector<Tensor> outputs;
  TCC_RETURN_IF_ERROR(state_->runner->Run(inputs, options, &outputs));
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> LoadedPackage::operator()(std::initializer_list<Tensor> inputs,
                                                              const RunOptions& options) const {
  return (*this)(absl::Span<const Tensor>(inputs.begin(), inputs.size()), options);
}

absl::Status LoadedPackage::Run(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                                const RunOptions& options) const {
  TCC_RETURN_IF_ERROR(CheckOutputCount(outputs.size(), output_names().size()));
  RunOptions with_outputs = options;
  with_outputs.outputs = outputs;
  std::vector<Tensor> results;
  return state_->runner->Run(inputs, with_outputs, &results);
}

const std::vector<TensorInfo>& LoadedPackage::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& LoadedPackage::outputs() const { return state_->outputs; }
const std::vector<std::string>& LoadedPackage::input_names() const { return state_->input_names; }
const std::vector<std::string>& LoadedPackage::output_names() const { return state_->output_names; }

}  // namespace tcc
