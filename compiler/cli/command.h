// What the commands of `tcc` share. Each is one file with one Add...Command function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/compare.h"
#include "compiler/options.h"
#include "compiler/session.h"
#include "runtime/tensor.h"

namespace tcc::cli {

// Exit codes: the work failed (wrong numbers, a failed test); bad usage or bad input.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;

// Prints "tcc: error: ..." to stderr, or with --json {"error": {code, message, exit_code}} to stdout; returns the exit
// code.
// `details`: further keys beside "error".
int Fail(const absl::Status& status, nlohmann::json details = nlohmann::json::object());

// An error where writing to `output` would replace the model itself.
absl::Status CheckOutput(const std::string& output, const std::string& model);

// Each adds its subcommand; `exit_code` is set when it runs.
void AddBenchCommand(CLI::App& app, int* exit_code);
void AddCacheCommand(CLI::App& app, int* exit_code);
void AddCompileCommand(CLI::App& app, int* exit_code);
void AddDevicesCommand(CLI::App& app, int* exit_code);
void AddExplainCommand(CLI::App& app, int* exit_code);
void AddRunCommand(CLI::App& app, int* exit_code);
void AddTestCommand(CLI::App& app, int* exit_code);
void AddVerifyCommand(CLI::App& app, int* exit_code);

// Options of compilation, on every command that may compile.
class CompileFlags {
 public:
  void AddTo(CLI::App& command);
  absl::StatusOr<Options> Parse() const;
  // Whether library kernels may stand in where no code can be generated.
  bool allow_fallback() const { return !no_fallback_; }
  bool marks_dynamic() const { return !dynamic_.empty(); }
  const std::string& target() const { return target_; }

 private:
  std::string mode_ = "default", target_ = "cpu", precision_ = "model", numerics_ = "default", device_;
  std::vector<std::string> dynamic_, external_data_roots_;
  bool fullgraph_ = false, no_cache_ = false, no_fallback_ = false;
  int recompile_limit_ = 8;
  double timeout_ = 0;
};

// Inputs for a run: files, descriptions and random numbers.
class InputFlags {
 public:
  void AddTo(CLI::App& command);
  // One tensor per input of the session; invalid where absent.
  absl::StatusOr<std::vector<Tensor>> Load(const Session& session) const;
  // The same, with random numbers where nothing is given.
  absl::StatusOr<std::vector<Tensor>> LoadOrRandom(const Session& session) const;
  // Only what they are like: what `tcc compile` needs. Inputs that nothing describes take the model's extents, where
  // all of them are numbers; otherwise an error says what to add.
  absl::StatusOr<CallTypes> Types(const Session& session) const;
  bool empty() const { return inputs_.empty() && random_->count() == 0; }
  // Extents that --input describes by name are dynamic.
  // (Not of a package: there they only say what random numbers are for.)
  absl::Status AddDynamic(const std::string& model, Options* options) const;

 private:
  absl::StatusOr<std::vector<Tensor>> Load(const Session& session, bool random) const;

  std::vector<std::string> inputs_;
  CLI::Option* random_ = nullptr;
  std::string seed_;
};

// Progress of compilation on stderr while it is a terminal.
ProgressFunction TerminalProgress();
void ClearProgress();

}  // namespace tcc::cli
