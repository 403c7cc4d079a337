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
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
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

int Fail(const absl::Status& status, nlohmann::json details) {
  ClearProgress();
  const int exit_code = ExitCode(status);
  const std::string message(status.message());
  if (json_errors) {
    details["error"] = {
        {"code", absl::StatusCodeToString(status.code())}, {"message", message}, {"exit_code", exit_code}};
    std::printf("%s\n", details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
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

// The arguments, where --random without a number after it does not take what follows, as the model's name, for one.
std::vector<std::string> WithSeeds(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    uint64_t seed = 0;
    if (text != "--random") {
      arguments.push_back(text);
    } else if (i + 1 < argc && absl::SimpleAtoi(argv[i + 1], &seed)) {
      arguments.push_back(absl::StrCat("--random=", argv[++i]));
    } else {
      arguments.emplace_back("--random=0");
    }
  }
  return arguments;
}

// How many letters to change, add or leave out.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

// Of arguments that no option or command takes: which, and what may have been meant. Empty: something else is wrong.
std::string WhatIsWrong(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (parsed.empty()) return "";
  const CLI::App& command = *parsed[0];
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  for (const std::string& text : rest) {
    if (text.size() < 2 || text[0] != '-') continue;
    const std::string name = text.substr(0, text.find('='));
    std::string nearest;
    size_t least = std::max<size_t>(name.size() / 2, 2);
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& known : option->get_lnames()) {
        const size_t distance = EditDistance(name, "--" + known);
        if (distance >= least) continue;
        least = distance;
        nearest = "--" + known;
      }
    }
    return absl::StrCat("there is no option '", name, "' of tcc ", command.get_name(),
                        nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"), " (tcc ",
                        command.get_name(), " --help lists them)");
  }
  std::vector<std::string> inner;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    inner.push_back(sub->get_name());
  }
  if (!inner.empty() && command.get_subcommands().empty()) {
    return absl::StrCat(rest.empty() ? absl::StrCat("tcc ", command.get_name(), " needs a subcommand")
                                     : absl::StrCat("there is no command 'tcc ", command.get_name(), " ", rest[0], "'"),
                        "; there are ", absl::StrJoin(inner, ", "));
  }
  return "";
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
  const std::vector<std::string> arguments = WithSeeds(argc, argv);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return absl::StrCat("tcc: error: ", error.what(), "\n'tcc --help' and 'tcc COMMAND --help' say more.\n");
  });
  try {
    // (CLI11 takes them from the back.)
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    const bool wrong = error.get_exit_code() != 0;  // else --help or --version
    if (const std::string better = wrong ? WhatIsWrong(app) : std::string(); !better.empty()) {
      return tcc::cli::Fail(absl::InvalidArgumentError(better));
    }
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
