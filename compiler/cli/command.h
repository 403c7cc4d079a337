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
#include "compiler/options.h"
#include "compiler/session.h"
#include "runtime/tensor.h"

namespace tcc::cli {

// Exit codes: the work failed (wrong numbers, a failed test); bad usage or bad input.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;

// Prints "tcc: error: ..." and returns the exit code for it.
int Fail(const absl::Status& status);

// Each adds its subcommand; `exit_code` is set when it runs.
void AddBenchCommand(CLI::App& app, int* exit_code);
void AddCacheCommand(CLI::App& app, int* exit_code);
void AddCompileCommand(CLI::App& app, int* exit_code);
void AddDevicesCommand(CLI::App& app, int* exit_code);
void AddExplainCommand(CLI::App& app, int* exit_code);
void AddRunCommand(CLI::App& app, int* exit_code);
void AddTestCommand(CLI::App& app, int* exit_code);

// Options of compilation, on every command that may compile.
class CompileFlags {
 public:
  void AddTo(CLI::App& command);
  absl::StatusOr<Options> Parse() const;

 private:
  std::string mode_ = "default", target_ = "cpu", precision_ = "model", numerics_ = "default";
  std::vector<std::string> dynamic_, external_data_roots_;
  bool fullgraph_ = false, no_cache_ = false;
  int recompile_limit_ = 8;
  double timeout_ = 0;
};

// Inputs for a run: files, descriptions and random numbers.
class InputFlags {
 public:
  void AddTo(CLI::App& command);
  // One tensor per input of the session; invalid where absent.
  absl::StatusOr<std::vector<Tensor>> Load(const Session& session) const;
  // Only what they are like: what `tcc compile` needs. Inputs that nothing describes take the model's extents, where
  // all of them are numbers; otherwise an error says what to add.
  absl::StatusOr<CallTypes> Types(const Session& session) const;
  bool empty() const { return inputs_.empty() && random_->count() == 0; }
  // Extents that --input describes by name are dynamic.
  absl::Status AddDynamic(Options* options) const;

 private:
  std::vector<std::string> inputs_;
  CLI::Option* random_ = nullptr;
  std::string seed_;
};

// Progress of compilation on stderr while it is a terminal.
ProgressFunction TerminalProgress();
void ClearProgress();

// What differs between two sets of outputs; ok where all is within |a - b| <= atol + rtol * |b|, where float16 and
// bfloat16 get at least two units in the last place. NaN equals NaN.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-5;
};
// The largest |actual - expected|, relative to the largest |expected|; infinity where only one is NaN.
absl::StatusOr<double> RelativeError(const Tensor& actual, const Tensor& expected);
absl::Status CompareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace tcc::cli
