// tcc run: one call of a model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/cli/command.h"
#include "runtime/npy.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

// A model may name one output twice: arrays of a file are told apart, as 'y' and 'y_1'.
std::string FreeName(const std::vector<std::string>& names, size_t index) {
  std::vector<std::string> taken;
  for (size_t i = 0; i <= index; ++i) {
    std::string name = names[i];
    // (Names of other outputs are theirs.)
    const auto used = [&](const std::string& text) {
      return std::find(taken.begin(), taken.end(), text) != taken.end() ||
             (text != names[i] && std::find(names.begin(), names.end(), text) != names.end());
    };
    for (int suffix = 1; used(name); ++suffix) name = absl::StrCat(names[i], "_", suffix);
    taken.push_back(std::move(name));
  }
  return taken.back();
}

struct RunCommand {
  std::string model, output, expect;
  CompileFlags compile;
  InputFlags inputs;
  Tolerance tolerance;
  std::function<bool()> has_tolerance;  // --rtol or --atol
  double max_error = -1;
  bool json = false;
  nlohmann::json report = nlohmann::json::object();  // with --json

  absl::Status Run() {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(model, &options));
    TCC_RETURN_IF_ERROR(CheckOutput(output, model));
    // Without a tolerance of the user's: one that fits the precision.
    const double rounding = RoundingOf(options.precision);
    if (max_error < 0 && rounding > 0 && !has_tolerance()) max_error = rounding;
    Session::Config config;
    config.options = std::move(options);
    config.allow_fallback = compile.allow_fallback();
    config.progress = TerminalProgress();
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Session::Open(model, std::move(config)));
    TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, inputs.Load(*session));
    std::vector<Tensor> outputs;
    TCC_RETURN_IF_ERROR(session->Run(tensors, RunOptions(), &outputs));
    ClearProgress();

    const std::vector<CompileEvent> events = session->events();
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Signature* signature = events.empty() ? nullptr : &events[0].signature;
      names.push_back(signature != nullptr && i < signature->outputs.size() ? signature->outputs[i].name
                                                                            : absl::StrCat("o", i));
    }
    if (!output.empty()) {
      NamedTensors named;
      for (size_t i = 0; i < outputs.size(); ++i) named.emplace_back(FreeName(names, i), outputs[i]);
      TCC_RETURN_IF_ERROR(SaveNpz(output, named));
    }
    if (json) {
      nlohmann::json list = nlohmann::json::array();
      for (size_t i = 0; i < outputs.size(); ++i) {
        list.push_back({{"name", names[i]}, {"type", outputs[i].type().ToString()}});
      }
      report["outputs"] = list;
      report["cache_hit"] = !events.empty() && events[0].hit;
      report["warnings"] = nlohmann::json::array();
      for (const CompileEvent& event : events) {
        for (const std::string& warning : event.warnings) report["warnings"].push_back(warning);
      }
    } else if (output.empty() && expect.empty()) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        std::printf("%s: %s\n", names[i].c_str(), DebugString(outputs[i]).c_str());
      }
    }
    if (!expect.empty()) TCC_RETURN_IF_ERROR(Compare(names, outputs));
    if (json) std::printf("%s\n", report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return absl::OkStatus();
  }

  absl::Status Compare(const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
    TCC_ASSIGN_OR_RETURN(const NamedTensors expected, LoadNpz(expect));
    int compared = 0;
    double worst = 0;
    std::string failures;
    for (const auto& [name, tensor] : expected) {
      size_t index = outputs.size();
      for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) index = i;
      }
      if (index == outputs.size() && !(name.size() > 1 && name[0] == 'o' && absl::SimpleAtoi(name.substr(1), &index))) {
        continue;
      }
      if (index >= outputs.size()) {
        absl::StrAppend(&failures, "\n  ", name, ": the model has only ", outputs.size(), " outputs");
        continue;
      }
      ++compared;
      const absl::StatusOr<double> error = RelativeError(outputs[index], tensor);
      // (What cannot be compared, as of other extents, has no error that is a number.)
      worst = std::max(worst, error.ok() ? *error : INFINITY);
      absl::Status status = error.status();
      if (max_error < 0) {
        status = CompareTensors(outputs[index], tensor, tolerance);
      } else if (status.ok() && !(*error <= max_error)) {
        status =
            absl::DataLossError(absl::StrCat("has an error of ", *error, " of its largest value, over ", max_error));
      }
      if (!status.ok()) absl::StrAppend(&failures, "\n  ", names[index], " ", status.message());
    }
    report["compared"] = compared;
    report["max_error"] = worst;  // (infinity is null)
    if (!failures.empty()) return absl::DataLossError(absl::StrCat("the outputs differ from ", expect, ":", failures));
    if (compared == 0) {
      return absl::InvalidArgumentError(absl::StrCat(expect, ": no array is named like an output (",
                                                     absl::StrJoin(names, ", "), "), or o0, o1, ..."));
    }
    if (!json) std::printf("%d outputs as expected, largest error %.3g\n", compared, worst);
    return absl::OkStatus();
  }
};

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand("run", "Runs a model or package once");
  sub->add_option("MODEL", command->model, "An .onnx model or a .tcc package")->required();
  command->inputs.AddTo(*sub);
  sub->add_option("--output", command->output, "Where the outputs go, an .npz");
  sub->add_option("--expect", command->expect, "Compares the outputs with an .npz (by name, or o0, o1, ...)");
  const CLI::Option* rtol = sub->add_option("--rtol", command->tolerance.rtol, "Relative tolerance of --expect");
  const CLI::Option* atol = sub->add_option("--atol", command->tolerance.atol, "Absolute tolerance of --expect");
  command->has_tolerance = [rtol, atol] { return rtol->count() + atol->count() > 0; };
  sub->add_option("--max-error", command->max_error,
                  "Instead of them: the largest |x - y| of an output, relative to the largest |y|");
  command->compile.AddTo(*sub);
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer(
      "Example: tcc run model.onnx --input x=image.npy --output result.npz\n"
      "         tcc run model.onnx --input data.npz --expect data.npz --rtol 1e-4");
  sub->callback([command, exit_code] {
    const absl::Status status = command->Run();
    *exit_code = status.ok() ? kOk : Fail(status, std::move(command->report));
  });
}

}  // namespace tcc::cli
