// tcc: compiles and runs models. See `tcc --help`.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  tcc::cli::AddVerifyCommand(app, &exit_code);
  tcc::cli::AddCacheCommand(app, &exit_code);
  tcc::cli::AddDevicesCommand(app, &exit_code);
  // (CLI11 says of an unknown command that a subcommand is required.)
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  if (argc > 1 && argv[1][0] != '-' && std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
    return tcc::cli::Fail(absl::InvalidArgumentError(
        absl::StrCat("there is no command '", argv[1], "'; there are ", absl::StrJoin(commands, ", "))));
  }
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return absl::StrCat("tcc: error: ", error.what(), "\n'tcc --help' and 'tcc COMMAND --help' say more.\n");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tcc::cli::kOk : tcc::cli::kBadInput;
  }
  return exit_code;
}
