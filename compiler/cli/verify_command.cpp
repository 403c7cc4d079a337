// tcc verify: the compiled model against the interpreter.
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "compiler/cli/command.h"
#include "runtime/file_util.h"
#include "runtime/npy.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

struct VerifyCommand {
  std::string model;
  CompileFlags compile;
  InputFlags inputs;
  double rtol = -1, atol = -1, max_error = -1;  // negative: not given
  bool json = false;

  absl::StatusOr<bool> Run() {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    std::error_code ignored;
    if (std::filesystem::is_directory(model, ignored)) return RunReproducer(options);
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(model, &options));
    std::string path = absl::StrCat(TemporaryFolder(), "/tcc-verify-XXXXXX.npz");
    FileDescriptor file(::mkstemps(path.data(), 4));
    if (!file.valid()) return ErrnoStatus(errno, path, "create");
    const TemporaryFile temporary(path);
    Session::Config config;
    config.options = std::move(options);
    config.progress = TerminalProgress();
    config.to_phase = Phase::kCodegen;
    config.verify_inputs = path;
    config.verify_tolerance = Allowed();
    config.allow_fallback = false;
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Session::Open(model, std::move(config)));
    if (session->is_package()) {
      return absl::InvalidArgumentError(absl::StrCat(model, ": is a package; verify the model it was made from"));
    }
    TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, inputs.LoadOrRandom(*session));
    NamedTensors named;
    CallTypes types;
    for (size_t i = 0; i < tensors.size(); ++i) {
      types.push_back(tensors[i].valid() ? tensors[i].type() : TensorType());
      if (tensors[i].valid()) named.emplace_back(session->inputs()[i].name, tensors[i]);
    }
    TCC_RETURN_IF_ERROR(SaveNpz(path, named));
    TCC_ASSIGN_OR_RETURN(const CompileEvent event, session->Prepare(types, tensors));
    ClearProgress();
    if (!event.reply || !event.reply->verification) return absl::InternalError("the worker did not verify");
    return Report(*event.reply->verification);
  }

  VerifyTolerance Allowed() const {
    VerifyTolerance tolerance;
    tolerance.max_error = max_error;
    if (rtol >= 0 || atol >= 0) tolerance.elements = {std::max(rtol, 0.0), std::max(atol, 0.0)};
    return tolerance;
  }

  // What an earlier verification left: one kernel with its operands.
  absl::StatusOr<bool> RunReproducer(const Options& options) const {
    if (!inputs.empty()) return absl::InvalidArgumentError(absl::StrCat(model, ": is a reproducer, it has its inputs"));
    CompileRequest request;
    std::error_code unknown;
    request.model = std::filesystem::absolute(model, unknown).string();
    request.options = options;
    request.to_phase = Phase::kCodegen;
    request.verify_tolerance = Allowed();
    TCC_ASSIGN_OR_RETURN(const CompileReply reply, WorkerPool::Global().Compile(request));
    if (!reply.verification) return absl::InternalError("the worker did not verify");
    return Report(*reply.verification);
  }

  bool Report(const Verification& result) const {
    if (json) {
      std::printf("%s\n", nlohmann::json{{"agrees", result.agrees},
                                         {"max_error", result.max_error},
                                         {"where", result.where},
                                         {"reproducer", result.reproducer}}
                              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                              .c_str());
    } else if (result.agrees) {
      std::printf("agrees with the interpreter; largest error %.3g\n", result.max_error);
    } else {
      std::printf("differs from the interpreter; largest error %.3g\nfirst difference: %s\n", result.max_error,
                  result.where.c_str());
      if (!result.reproducer.empty()) {
        std::printf("reproducer: tcc verify %s\n", result.reproducer.c_str());
      }
    }
    return result.agrees;
  }
};

}  // namespace

void AddVerifyCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<VerifyCommand>();
  CLI::App* sub = app.add_subcommand("verify", "Compares the compiled model with the interpreter");
  sub->add_option("MODEL", command->model, "An .onnx model, or a reproducer: a folder that an earlier verify left")
      ->required();
  command->inputs.AddTo(*sub);
  sub->add_option("--rtol", command->rtol, "Relative tolerance of each element")->check(CLI::NonNegativeNumber);
  sub->add_option("--atol", command->atol, "Absolute tolerance of each element")->check(CLI::NonNegativeNumber);
  sub->add_option("--max-error", command->max_error,
                  "Instead of them: the largest |x - y| of an output, relative to the largest |y|; default: what "
                  "rounding may come to in the precision that is compiled")
      ->check(CLI::NonNegativeNumber);
  command->compile.AddTo(*sub);
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer(
      "Example: tcc verify model.onnx --input data.npz\n"
      "Without inputs, random ones. Where the two differ, the first kernel that does is named, and written to\n"
      "$TCC_REPRODUCER_DIR (default /tmp) with its operands: tcc verify FOLDER compares that kernel alone.");
  sub->callback([command, exit_code] {
    const absl::StatusOr<bool> agrees = command->Run();
    *exit_code = !agrees.ok() ? Fail(agrees.status()) : *agrees ? kOk : kFailed;
  });
}

}  // namespace tcc::cli
