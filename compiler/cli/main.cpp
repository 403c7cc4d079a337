// tcc: compiles and runs models. See `tcc --help`.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/cli/command.h"
#include "compiler/version.h"
#include "runtime/file_util.h"
#include "runtime/logs.h"

namespace tcc::cli {
namespace {

// Whether the command line asks for JSON: what is wrong with a command line is reported that way too, so that this is
// known before it is parsed.
bool json_errors = false;

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnknown:
      return kFailed;
    default:
      return kBadInput;
  }
}

}  // namespace

int Fail(const absl::Status& status) {
  ClearProgress();
  const int exit_code = ExitCode(status);
  const std::string message(status.message());
  if (json_errors) {
    const nlohmann::json error = {
        {"code", absl::StatusCodeToString(status.code())}, {"message", message}, {"exit_code", exit_code}};
    std::printf(
        "%s\n",
        nlohmann::json{{"error", error}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::fprintf(stderr, "tcc: error: %s\n", message.c_str());
  }
  return exit_code;
}

absl::Status CheckOutput(const std::string& output, const std::string& model) {
  std::error_code unknown;
  if (output.empty() || !std::filesystem::equivalent(output, model, unknown)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", output, "' is the model; name another file for the output"));
}

}  // namespace tcc::cli

namespace tcc::cli {
namespace {

// A closed stdin, stdout or stderr is replaced by one that cannot be used either: otherwise the next file that is
// opened, of the cache perhaps, would be what is printed to.
void KeepStandardFiles() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Ends as these signals end a process, but without leaving temporaries. (Workers end when their socket closes.)
void RemoveTemporariesOnSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;  // as under nohup
    ::sigaddset(&signals, signal);
    any = true;
  }
  if (!any || ::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  std::thread([signals] {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) return;
    RemoveTemporaries();
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    ::raise(signal);
  }).detach();
}

// What was printed has arrived, or the command failed.
int Finish(int exit_code) {
  std::cout.flush();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) return exit_code;
  const std::string why = errno != 0 ? absl::StrCat(": ", std::strerror(errno)) : "";
  std::fprintf(stderr, "tcc: error: cannot write to the standard output%s\n", why.c_str());
  return exit_code == kOk ? kFailed : exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app("Compiles models to native code and runs them.", "tcc");
  app.set_version_flag("--version", std::string("tcc ") + tcc::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Example: tcc run model.onnx --input x=image.npy --output result.npz\n"
      "'tcc COMMAND --help' says more.\n\n"
      "Threads: one for each physical core that this process may use, by its affinity mask and CPU quota; "
      "TCC_NUM_THREADS=N sets the number.\n"
      "Exit codes: 0 success, 1 the work failed (wrong numbers, a failed test, a time limit, no memory or another "
      "limit, a fault of tcc, output that could not be written), 2 bad usage or input.\n"
      "Errors go to stderr; with --json to stdout: {\"error\": {\"code\": \"NOT_FOUND\", \"message\": \"...\", "
      "\"exit_code\": 2}}.");
  for (int i = 1; i < argc; ++i) tcc::cli::json_errors |= std::string(argv[i]) == "--json";
  int exit_code = tcc::cli::kOk;
  (void)tcc::LogEnabled("guards");  // says what is wrong with $TCC_LOGS, whatever the command
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
    const bool wrong = error.get_exit_code() != 0;  // else --help or --version
    if (wrong && tcc::cli::json_errors) return tcc::cli::Fail(absl::InvalidArgumentError(error.what()));
    return app.exit(error) == 0 ? tcc::cli::kOk : tcc::cli::kBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace tcc::cli

int main(int argc, char** argv) {
  tcc::cli::KeepStandardFiles();
  ::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error of the write, like a full disk
  tcc::cli::RemoveTemporariesOnSignals();
  return tcc::cli::Finish(tcc::cli::Main(argc, argv));
}
