// tcc: compiles and runs models. See `tcc --help`.
#include <cstdio>

#include "compiler/cli/command.h"
#include "compiler/version.h"

namespace tcc::cli {

int Fail(const absl::Status& status) {
  ClearProgress();
  std::fprintf(stderr, "tcc: error: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
      return kFailed;
    default:
      return kBadInput;
  }
}

}  // namespace tcc::cli

int main(int argc, char** argv) {
  CLI::App app("Compiles models to native code and runs them.", "tcc");
  app.set_version_flag("--version", std::string("tcc ") + tcc::kVersion);
  app.require_subcommand(1);
  app.footer("Example: tcc run model.onnx --input x=image.npy --output result.npz\n'tcc COMMAND --help' says more.");
  int exit_code = tcc::cli::kOk;
  tcc::cli::AddCompileCommand(app, &exit_code);
  tcc::cli::AddRunCommand(app, &exit_code);
  tcc::cli::AddBenchCommand(app, &exit_code);
  tcc::cli::AddExplainCommand(app, &exit_code);
  tcc::cli::AddTestCommand(app, &exit_code);
  tcc::cli::AddCacheCommand(app, &exit_code);
  tcc::cli::AddDevicesCommand(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tcc::cli::kOk : tcc::cli::kBadInput;
  }
  return exit_code;
}
