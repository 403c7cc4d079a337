// What is asked of the compile half, and what it answers: all that passes the door between the halves, as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/compare.h"
#include "compiler/options.h"
#include "nlohmann/json.hpp"
#include "runtime/signature.h"

namespace tcc {

// How far compilation goes, in order. Each name is a value of `--to-phase`.
enum class Phase {
  kLoad,      // "load": the file is read and checked
  kImport,    // "import": the tcc dialect on tensors
  kSimplify,  // "simplify": graph passes
  kFuse,      // "fuse": tcc.kernel
  kAutotune,  // "autotune": schedules measured, in the max-autotune modes
  kCodegen,   // "codegen": scheduled, machine code, the plan
  kPackage,   // "package"
};
inline constexpr Phase kPhases[] = {Phase::kLoad,     Phase::kImport,  Phase::kSimplify, Phase::kFuse,
                                    Phase::kAutotune, Phase::kCodegen, Phase::kPackage};
std::string_view PhaseName(Phase phase);
absl::StatusOr<Phase> ParsePhase(std::string_view name);

// A text that compilation can show: a value of `--emit`.
struct EmitKind {
  std::string_view name;
  Phase phase;  // that makes it
  std::string_view suffix;
  bool cpu = true, cuda = true;  // targets it is made for; cuda-sim is as cuda
};
inline constexpr EmitKind kEmitKinds[] = {
    {"import", Phase::kImport, ".mlir"},
    {"tcc", Phase::kSimplify, ".mlir"},
    {"kernels", Phase::kFuse, ".mlir"},
    {"scheduled", Phase::kCodegen, ".mlir"},
    {"llvm", Phase::kCodegen, ".ll", true, false},
    {"asm", Phase::kCodegen, ".s", true, false},
    {"cuda", Phase::kCodegen, ".cu", false, true},
    {"plan", Phase::kCodegen, ".json"},
};
// InvalidArgument with the names there are, for the target.
absl::StatusOr<EmitKind> ParseEmitKind(std::string_view name, const TargetSpec& target);

// What a verification takes for equal: by default what rounding may come to.
struct VerifyTolerance {
  double max_error = -1;              // not negative: the largest error, relative to the largest value of an output
  std::optional<Tolerance> elements;  // else, where given: by element
  double rounding = 0;                // of the precision (compare.h); not sent
};

struct CompileRequest {
  std::string model;  // path; absolute, since the worker may have another working directory
  Options options;
  // What to specialise on: symbols, and inputs by name. `outputs` is not read.
  Signature signature;
  // Elements of small integer inputs, to specialise on as well should the import need them.
  std::map<std::string, std::vector<int64_t>> small_values;
  // The extents that the symbols stand for in the call at hand, likewise.
  std::vector<int64_t> symbol_values;
  // Inputs that are constants: files with a TensorProto, SequenceProto or OptionalProto.
  std::map<std::string, std::string> constants;
  // Where the package goes (empty: none is written), and large constants.
  std::string package;
  std::string constant_store;
  // The folder of the cache in which kernels for GPUs are kept one by one (empty: nowhere).
  std::string kernel_cache;
  // Where measured schedules are kept (empty: nowhere).
  std::string tuning_store;
  // The program that runs what max-autotune measures on devices (empty: nothing is measured on them). Not sent: the
  // worker names itself.
  std::string worker;
  Phase to_phase = Phase::kPackage;
  // Where no code can be generated, use library kernels and say so, instead of failing.
  bool allow_fallback = true;
  // Inputs by name (.npz): the compiled plan is run on them and compared with the interpreter. Empty: no.
  std::string verify_inputs;
  VerifyTolerance verify_tolerance;
  // Texts to return: names of kEmitKinds.
  std::vector<std::string> emit;
};

// One launch on a device. Extents are expressions over symbols, as text.
struct LaunchRecord {
  std::string symbol;  // the kernel, as in the package
  std::string grid;    // blocks: "12", "s0 ceildiv 128 x 4"
  std::string block;   // threads of one: "256", "32 x 8"
  std::string shared;  // bytes of dynamic shared memory; empty: none
};

// What a kernel takes of a GPU, as its assembler says (ptxas).
struct ResourceRecord {
  std::string symbol, arch;
  int registers = 0;         // a thread
  int64_t spill_bytes = 0;   // a thread, stored and loaded
  int64_t shared_bytes = 0;  // a block, static
  double occupancy = 0;      // share of a multiprocessor's threads that can be resident at once; 0: not known
};

// One kernel or library call of the plan.
struct KernelRecord {
  std::string name;
  std::vector<std::string> sources;
  std::string schedule;  // empty: a library call
  int launches = 0;
  double flops = 0;  // estimates, for the smallest extents
  double bytes = 0;
  std::string flops_text = {}, bytes_text = {};  // for others: expressions over symbols (codegen/plan/Cost.h)
  std::vector<LaunchRecord> device_launches = {};
};

// What the estimates of `kernels` are in a call: `symbols` are the values of the signature's. Those that only a run
// knows count with their smallest.
void EstimateFor(absl::Span<const int64_t> symbols, std::vector<KernelRecord>* kernels);

// How the compiled code compares with the interpreter.
struct Verification {
  bool agrees = true;
  double max_error = 0;    // over all outputs, relative to the largest value of each
  std::string where;       // what differs first: a phase, and the kernel
  std::string reproducer;  // a folder: the kernel's IR, its inputs, what came out and what should have
};

// What the max-autotune modes did.
struct TuningSummary {
  int kernels = 0;   // distinct ones with a choice
  int reused = 0;    // of those: known from an earlier compile
  int skipped = 0;   // of those: left alone, for want of time or because they cannot be run here
  int measured = 0;  // candidates that were timed
  int pruned = 0;    // candidates that were not worth a run: they do not fit, or are the same as others
  int dropped = 0;   // candidates that did not compile, crashed, took too long, or computed something else
  int changed = 0;   // kernels for which another choice than the default won, measured or reused
  int reverted = 0;  // of those: given up since all together were slower than the defaults
};

struct CompileReply {
  std::vector<std::pair<std::string, double>> phase_ms;
  Signature signature;  // with outputs, and with the input values that were specialised on
  std::vector<KernelRecord> kernels;
  std::vector<ResourceRecord> resources;       // of kernels for GPUs, by symbol and architecture
  std::map<std::string, std::string> emitted;  // name -> text
  std::vector<std::string> warnings;
  // Why extents or values that the request left open are numbers in `signature`; empty where none is.
  std::string narrowed;
  std::optional<Verification> verification;
  TuningSummary tuning;
  int64_t peak_rss_bytes = 0;
};

// Called while compiling: the phase, and how much of it is done (total 0: not known).
using ProgressFunction = std::function<void(Phase phase, int done, int total)>;

nlohmann::json RequestToJson(const CompileRequest& request);
absl::StatusOr<CompileRequest> RequestFromJson(const nlohmann::json& json);
nlohmann::json ReplyToJson(const CompileReply& reply);
absl::StatusOr<CompileReply> ReplyFromJson(const nlohmann::json& json);

nlohmann::json KernelsToJson(const std::vector<KernelRecord>& kernels);
absl::StatusOr<std::vector<KernelRecord>> KernelsFromJson(const nlohmann::json& json);
nlohmann::json ResourcesToJson(const std::vector<ResourceRecord>& resources);
absl::StatusOr<std::vector<ResourceRecord>> ResourcesFromJson(const nlohmann::json& json);

nlohmann::json TuningToJson(TuningSummary tuning);

nlohmann::json StatusToJson(const absl::Status& status);
absl::Status StatusFromJson(const nlohmann::json& json);

}  // namespace tcc
