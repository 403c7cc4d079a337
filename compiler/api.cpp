#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/include/tcc/tcc.h"
#include "compiler/package_runner.h"
#include "compiler/session.h"
#include "compiler/version.h"
#include "runtime/status.h"

namespace tcc {

struct Callable::State {
  std::shared_ptr<Session> session;
  std::vector<TensorInfo> inputs;
  static const std::shared_ptr<Session>& Of(const Callable& callable) { return callable.state_->session; }
};

namespace {

absl::Status NoModel() {
  return absl::FailedPreconditionError("the callable has no model; it comes from tcc::Compile");
}

std::string ExtentText(const Signature& signature, const Extent& extent) {
  if (extent.symbol >= 0) return signature.symbols[static_cast<size_t>(extent.symbol)].name;
  return extent.value < 0 ? "?" : absl::StrCat(extent.value);
}

GraphInfo Describe(const CompileEvent& event) {
  GraphInfo graph;
  for (const InputSpec& input : event.signature.inputs) {
    std::string text = absl::StrCat(input.name, ": ");
    if (input.absent) {
      absl::StrAppend(&text, "absent");
    } else {
      absl::StrAppend(&text, std::string(DTypeName(input.dtype)), "[");
      for (size_t i = 0; i < input.dims.size(); ++i) {
        absl::StrAppend(&text, i > 0 ? "," : "", ExtentText(event.signature, input.dims[i]));
      }
      absl::StrAppend(&text, "]", input.values ? " with fixed values" : "");
    }
    graph.inputs.push_back(std::move(text));
  }
  for (const Symbol& symbol : event.signature.symbols) {
    std::string text = absl::StrCat(symbol.name, ": at least ", symbol.min);
    if (symbol.max != kMaxExtent) absl::StrAppend(&text, ", at most ", symbol.max);
    if (symbol.multiple_of > 1) absl::StrAppend(&text, ", a multiple of ", symbol.multiple_of);
    graph.guards.push_back(std::move(text));
  }
  graph.reason = event.reason;
  graph.mode = event.mode;
  graph.precision = event.precision;
  graph.cache_hit = event.hit;
  graph.compile_seconds = event.seconds;
  graph.package = event.package;
  for (const KernelRecord& kernel : event.kernels) {
    graph.kernels.push_back({kernel.name, kernel.sources, kernel.schedule, kernel.flops, kernel.bytes});
  }
  return graph;
}

}  // namespace

absl::StatusOr<Model> Load(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": ", errno == ENOENT ? "no such file" : std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  return Model(path);
}

Callable::Callable() = default;
Callable::~Callable() = default;
Callable::Callable(const Callable&) = default;
Callable& Callable::operator=(const Callable&) = default;
Callable::Callable(Callable&&) noexcept = default;
Callable& Callable::operator=(Callable&&) noexcept = default;

absl::StatusOr<Callable> Compile(const Model& model, const Options& options) {
  Session::Config config;
  config.options = options;
  auto state = std::make_shared<Callable::State>();
  TCC_ASSIGN_OR_RETURN(state->session, Session::Open(model.path(), std::move(config)));
  for (const DeclaredInput& input : state->session->inputs()) {
    TensorInfo& info = state->inputs.emplace_back();
    info.name = input.name;
    info.optional = input.optional;
    info.type.dtype = input.dtype;
    for (const DeclaredInput::Dim& dim : input.dims) {
      info.type.dims.push_back(dim.value);
      info.dim_names.push_back(dim.param);
    }
  }
  Callable callable;
  callable.state_ = std::move(state);
  return callable;
}

absl::StatusOr<Callable> Compile(const absl::StatusOr<Model>& model, const Options& options) {
  if (!model.ok()) return model.status();
  return Compile(*model, options);
}

absl::StatusOr<std::vector<Tensor>> Callable::operator()(absl::Span<const Tensor> inputs,
                                                         const RunOptions& options) const {
  if (state_ == nullptr) return NoModel();
  std::vector<Tensor> outputs;
  TCC_RETURN_IF_ERROR(state_->session->Run(inputs, options, &outputs));
  return outputs;
}
absl::StatusOr<std::vector<Tensor>> Callable::operator()(std::initializer_list<Tensor> inputs,
                                                         const RunOptions& options) const {
  return (*this)(absl::Span<const Tensor>(inputs.begin(), inputs.size()), options);
}

absl::Status Callable::Run(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                           const RunOptions& options) const {
  if (state_ == nullptr) return NoModel();
  TCC_RETURN_IF_ERROR(CheckOutputCount(outputs.size(), output_names().size()));
  RunOptions with_outputs = options;
  with_outputs.outputs = outputs;
  std::vector<Tensor> results;
  return state_->session->Run(inputs, with_outputs, &results);
}

const std::vector<TensorInfo>& Callable::inputs() const {
  static const std::vector<TensorInfo> none;
  return state_ == nullptr ? none : state_->inputs;
}
const std::vector<std::string>& Callable::output_names() const {
  static const std::vector<std::string> none;
  return state_ == nullptr ? none : state_->session->output_names();
}

Explanation Callable::Explain() const {
  Explanation explanation;
  if (state_ == nullptr) return explanation;
  for (const CompileEvent& event : state_->session->events()) explanation.graphs.push_back(Describe(event));
  return explanation;
}

absl::StatusOr<Explanation> Explain(const Callable& callable, absl::Span<const TensorType> inputs) {
  if (callable.inputs().empty() && callable.output_names().empty()) return NoModel();
  TCC_RETURN_IF_ERROR(Callable::State::Of(callable)->Prepare(CallTypes(inputs.begin(), inputs.end())).status());
  return callable.Explain();
}

const char* Version() { return kVersion; }

}  // namespace tcc
