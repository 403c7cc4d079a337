#include "compiler/include/tcc/runtime.h"
#include "compiler/package_runner.h"
#include "runtime/status.h"

namespace tcc {

struct LoadedPackage::State {
  std::unique_ptr<PackageRunner> runner;
  std::vector<std::string> inputs, outputs;
};

absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path) {
  auto state = std::make_shared<LoadedPackage::State>();
  TCC_ASSIGN_OR_RETURN(state->runner, PackageRunner::Open(path));
  const Signature& signature = state->runner->package().signature(0);
  for (const InputSpec& input : signature.inputs) state->inputs.push_back(input.name);
  for (const OutputSpec& output : signature.outputs) state->outputs.push_back(output.name);
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

const std::vector<std::string>& LoadedPackage::input_names() const { return state_->inputs; }
const std::vector<std::string>& LoadedPackage::output_names() const { return state_->outputs; }

}  // namespace tcc
