//===- DeviceAutotune.cpp - schedules for GPUs, chosen by measurement -----===//
#include "compiler/autotune/DeviceAutotune.h"

#include <chrono>
#include <cstdlib>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/device/DeviceLibrary.h"
#include "codegen/cuda/extern/Library.h"
#include "compiler/autotune/Choose.h"
#include "compiler/autotune/DeviceCandidates.h"
#include "compiler/autotune/Kernels.h"
#include "compiler/autotune/Measurer.h"
#include "compiler/autotune/TuningStore.h"
#include "compiler/pipeline/Target.h"
#include "compiler/version.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/hash.h"
#include "runtime/logs.h"
#include "runtime/status.h"

using namespace mlir;

namespace tcc::compiler {
namespace {

using codegen::ScheduleCandidate;
using codegen::ScheduleSpace;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Kernels that are equal but for their names and where they came from.
struct Group {
  std::string key;
  std::vector<ir::KernelOp> kernels;
  ScheduleSpace space;
  std::vector<int64_t> winner = {}; ///< parameters; empty: the default
  std::string name() const { return nameOf(kernels.front()); }
};

class DeviceTuner {
public:
  DeviceTuner(ModuleOp module, const DeviceAutotuneOptions &options, const std::function<void(int, int)> &progress)
      : module(module), options(options), progress(progress), store(options.store), start(now()) {}

  TuningSummary run() {
    const absl::Status status = collect();
    if (!status.ok()) {
      Warn(absl::StrCat("max-autotune: code for ", options.options.target, " cannot be measured on this machine: ",
                        std::string(status.message()), "; the default schedules are used"));
      return {};
    }
    summary.kernels = static_cast<int>(groups.size());
    std::vector<Group *> unknown;
    for (Group &group : groups) {
      if (reuse(group))
        continue;
      unknown.push_back(&group);
      total += static_cast<int>(group.space.candidates.size());
    }
    for (Group *group : unknown) {
      progress(done, total);
      std::string why;
      if (options.seconds > 0 && now() - start > options.seconds)
        why = "out of time";
      else
        measure(*group, &why);
      if (!why.empty()) {
        ++summary.skipped;
        Log("autotuning", absl::StrCat(group->name(), ": not measured: ", why));
      }
      done += static_cast<int>(group->space.candidates.size());
    }
    if (total > 0)
      progress(done, total);
    confirm();
    return summary;
  }

private:
  absl::StatusOr<TargetInstance> makeTarget(const std::string &target) {
    Options made = options.options;
    made.target = target;
    TargetHooks hooks;
    hooks.kernelCache = options.kernel_cache;
    return MakeTarget(made, hooks, module.getContext());
  }
  /// For the one architecture that is measured.
  absl::StatusOr<std::unique_ptr<codegen::Target>> makeTarget() {
    TCC_ASSIGN_OR_RETURN(TargetInstance instance, makeTarget(isSim ? "cuda-sim" : "cuda:" + device.arch));
    return std::move(instance.target);
  }

  /// An error where there is something to measure and no way to do so.
  absl::Status collect() {
    TCC_ASSIGN_OR_RETURN(const TargetSpec spec, ParseTarget(options.options.target));
    isSim = spec.kind == TargetSpec::Kind::kCudaSim;
    TCC_ASSIGN_OR_RETURN(const TargetInstance instance, makeTarget(options.options.target));
    const auto &target = static_cast<const codegen::CudaTarget &>(*instance.target);
    module.walk([&](ir::KernelOp kernel) {
      const std::vector<int64_t> symbols = symbolsOf(kernel);
      const std::string text = textOf(kernel, symbols);
      if (auto known = byText.find(text); known != byText.end()) {
        groups[known->second].kernels.push_back(kernel);
        return;
      }
      ScheduleSpace space = target.space(kernel, symbols);
      if (space.candidates.size() < 2)
        return;
      for (const std::string &pruned : space.pruned)
        Log("autotuning", absl::StrCat(nameOf(kernel), ": left out: ", pruned));
      summary.pruned += static_cast<int>(space.pruned.size());
      byText[text] = groups.size();
      groups.push_back({text, {kernel}, std::move(space)});
    });
    if (groups.empty())
      return absl::OkStatus();
    if (options.worker.empty())
      return absl::FailedPreconditionError("it is not compiled by tcc-worker, which would run candidates");
    MeasurerOptions with;
    with.program = options.worker;
    with.kind = isSim ? "cuda-sim" : "cuda";
    with.archs = isSim ? std::vector<std::string>{"sim"} : spec.archs;
    with.seconds = options.seconds_per_run;
    double other = 0;
    if (const char *text = std::getenv("TCC_MEASURE_SECONDS"); text && absl::SimpleAtod(text, &other) && other > 0)
      with.seconds = other;
    TCC_ASSIGN_OR_RETURN(measurer, Measurer::start(std::move(with)));
    device = measurer->device();
    limitCandidates();
    return makeKeys();
  }

  /// To what can be measured here.
  void limitCandidates() {
    // (What wins on the simulated device means nothing: enough to see that all works.)
    constexpr size_t kMostSimulated = 4;
    for (Group &group : groups) {
      std::vector<ScheduleCandidate> &candidates = group.space.candidates;
      std::erase_if(candidates, [&](const ScheduleCandidate &candidate) {
        const std::string library(codegen::cuda::libraryOf(candidate.parameters));
        const auto fault = device.libraryFaults.find(library);
        if (fault == device.libraryFaults.end())
          return false;
        Log("autotuning", absl::StrCat(group.name(), ": left out: ", fault->second));
        return true;
      });
      if (isSim && candidates.size() > kMostSimulated)
        candidates.resize(kMostSimulated);
    }
    std::erase_if(groups, [](const Group &group) { return group.space.candidates.size() < 2; });
  }

  /// Everything that decides about speed and is not in the kernel.
  absl::Status makeKeys() {
    llvm::Expected<std::string> compiler = codegen::KernelCompiler({}).compilerVersion(device.arch);
    if (!compiler)
      return absl::FailedPreconditionError(llvm::toString(compiler.takeError()));
    const std::string numerics = absl::StrCat(options.options.numerics == Numerics::kStrict ? "strict" : "fast",
                                              " precision ", static_cast<int>(options.options.precision));
    environment = absl::StrCat("tcc ", kVersion, " device library ", std::string(codegen::deviceLibraryHash()), "\n",
                               device.name, " ", device.arch, " ", device.version, " ",
                               absl::StrJoin(device.libraries, " ", absl::PairFormatter("=")), "\ncompiler ", *compiler,
                               " ", numerics, "\n");
    for (Group &group : groups)
      group.key = environment + group.key;
    return absl::OkStatus();
  }

  std::vector<int64_t> symbolsOf(Operation *op) const { return valuesOf(ir::getSymbols(op), options.symbol_values); }

  void apply(Group &group, const ScheduleCandidate &candidate) {
    group.winner = candidate.parameters;
    if (candidate.parameters.empty())
      return;
    ++summary.changed;
    setChoices(group, true);
  }
  static void setChoices(Group &group, bool measured) {
    for (ir::KernelOp kernel : group.kernels)
      codegen::setChoice(kernel, measured ? llvm::ArrayRef<int64_t>(group.winner) : llvm::ArrayRef<int64_t>());
  }

  bool reuse(Group &group) {
    std::optional<TuningRecord> record = store.find(group.key);
    if (!record)
      return false;
    // Only what could win here: the file may hold anything.
    for (const ScheduleCandidate &candidate : group.space.candidates) {
      if (candidate.parameters != record->candidates[record->winner].parameters)
        continue;
      ++summary.reused;
      Log("autotuning", absl::StrCat(group.name(), ": known: ", candidate.text));
      apply(group, candidate);
      return true;
    }
    return false;
  }

  ChooseOptions chooseOptions() const {
    ChooseOptions choose;
    choose.seconds = options.seconds_per_kernel;
    if (isSim) {
      choose.minRounds = 1;
      choose.maxRounds = 1;
    }
    return choose;
  }

  void measure(Group &group, std::string *why) {
    const absl::StatusOr<std::unique_ptr<MeasureFiles>> files = MeasureFiles::create();
    if (!files.ok()) {
      *why = std::string(files.status().message());
      return;
    }
    ir::KernelOp kernel = group.kernels.front();
    const std::vector<ScheduleCandidate> &choices = group.space.candidates;
    absl::StatusOr<BuiltCandidates> built =
        buildCandidates(kernel, choices, symbolsOf(kernel), [this] { return makeTarget(); }, device.arch, **files);
    if (!built.ok()) {
      *why = std::string(built.status().message());
      return;
    }
    bool isLasting = built->isLasting;
    measurer->begin(built->data);
    size_t left = 0;
    std::vector<std::string> faults;
    for (size_t i = 0; i < choices.size(); ++i) {
      BuiltCandidate &candidate = built->candidates[i];
      if (candidate.fault.empty()) {
        const absl::Status loaded = measurer->load(static_cast<int>(i), std::move(candidate.job));
        candidate.fault = std::string(loaded.message());
        isLasting &= !absl::IsResourceExhausted(loaded);
      }
      faults.push_back(candidate.fault);
      if (candidate.fault.empty()) {
        ++left;
      } else {
        ++(candidate.isPruned ? summary.pruned : summary.dropped);
        Log("autotuning", absl::StrCat(group.name(), ": ", choices[i].text,
                                       candidate.isPruned ? ": left out: " : ": lost: ", candidate.fault));
      }
      if (i == 0 && !candidate.fault.empty()) {
        *why = "the default cannot be run: " + candidate.fault;
        break;
      }
    }
    if (why->empty() && left < 2)
      *why = "no other candidate";
    if (!why->empty()) {
      if (isLasting) // not tried again
        store.add(group.key, {{{{}, -1}}, 0});
      return;
    }
    const Choice choice = chooseFastest(
        static_cast<int>(choices.size()),
        [&](int i) -> double {
          std::string &fault = faults[static_cast<size_t>(i)];
          if (!fault.empty())
            return -1;
          const absl::StatusOr<double> seconds = measurer->time(i);
          if (seconds.ok())
            return *seconds;
          fault = std::string(seconds.status().message());
          ++summary.dropped;
          Log("autotuning", absl::StrCat(group.name(), ": ", choices[static_cast<size_t>(i)].text, ": lost: ", fault));
          return -1;
        },
        now, chooseOptions());
    TuningRecord record;
    record.winner = static_cast<size_t>(choice.winner);
    std::string text = group.name();
    for (size_t i = 0; i < choices.size(); ++i) {
      record.candidates.push_back({choices[i].parameters, choice.seconds[i]});
      if (choice.seconds[i] < 0)
        continue;
      ++summary.measured;
      absl::StrAppend(&text, "\n  ", absl::StrFormat("%9.1f us  ", choice.seconds[i] * 1e6), choices[i].text,
                      i == record.winner ? "  <- fastest" : "");
    }
    Log("autotuning", text);
    if (isLasting)
      store.add(group.key, record);
    apply(group, choices[record.winner]);
  }

  /// All winners together: what is fastest by itself may not be so among others.
  void confirm() {
    std::string chosen;
    for (const Group &group : groups)
      if (!group.winner.empty())
        absl::StrAppend(&chosen, Hash128(group.key), " ", absl::StrJoin(group.winner, ","), "\n");
    if (chosen.empty() || (options.seconds > 0 && now() - start > options.seconds))
      return;
    std::string kernels;
    module.walk([&](ir::KernelOp kernel) { kernels += Hash128(textOf(kernel, symbolsOf(kernel))); });
    const std::string key = absl::StrCat(environment, "whole plan ", Hash128(kernels), "\n", chosen);
    std::optional<TuningRecord> record = store.find(key);
    if (!record) {
      TuningRecord found;
      const absl::Status status = runPlans(&found);
      if (!status.ok()) {
        Log("autotuning", absl::StrCat("the whole plan was not run: ", std::string(status.message())));
        return;
      }
      store.add(key, found);
      record = std::move(found);
    }
    const double before = record->candidates.front().seconds, after = record->candidates.back().seconds;
    const std::string times = absl::StrFormat("%.1f us, %.1f us with the defaults", after * 1e6, before * 1e6);
    if (record->winner != 0) {
      Log("autotuning", absl::StrCat("the whole plan: ", times));
      return;
    }
    Log("autotuning", absl::StrCat("the whole plan: ",
                                   after < 0 ? "it fails, or computes something else than" : times + ", slower than",
                                   " with the defaults, which are used"));
    summary.reverted = summary.changed;
    summary.changed = 0;
    for (Group &group : groups)
      setChoices(group, false);
  }

  absl::StatusOr<MeasureCandidate> buildWhole(func::FuncOp function, const char *name, MeasureFiles &files) {
    TCC_ASSIGN_OR_RETURN(const std::unique_ptr<codegen::Target> target, makeTarget());
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<codegen::PlanResult> plan = codegen::buildPlan(function, target.get());
    if (failed(plan))
      return absl::InternalError("no plan");
    return planCandidate(*plan, symbolsOf(function.getOperation()), device.arch, name, files);
  }

  absl::Status runPlans(TuningRecord *record) {
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function)
      return absl::NotFoundError("no function main");
    TCC_ASSIGN_OR_RETURN(const std::unique_ptr<MeasureFiles> files, MeasureFiles::create());
    MeasureData data;
    for (Type type : function.getArgumentTypes()) {
      TCC_ASSIGN_OR_RETURN(MeasureBuffer buffer, bufferFor(type, symbolsOf(function.getOperation())));
      data.inputs.push_back(std::move(buffer));
    }
    TCC_ASSIGN_OR_RETURN(MeasureCandidate tuned, buildWhole(function, "tuned", *files));
    for (Group &group : groups)
      setChoices(group, false);
    absl::StatusOr<MeasureCandidate> usual = buildWhole(function, "default", *files);
    for (Group &group : groups)
      setChoices(group, true);
    TCC_RETURN_IF_ERROR(usual.status());
    measurer->begin(std::move(data));
    TCC_RETURN_IF_ERROR(measurer->load(0, *std::move(usual)));
    const absl::Status loaded = measurer->load(1, std::move(tuned));
    if (absl::IsResourceExhausted(loaded))
      return loaded;
    if (!loaded.ok()) {
      Log("autotuning", absl::StrCat("the whole plan: ", std::string(loaded.message())));
      *record = {{{{}, 0}, {{1}, -1}}, 0};
      return absl::OkStatus();
    }
    // The measured choices stay unless they are clearly slower together.
    constexpr int kMostRounds = 10;
    constexpr double kMostSeconds = 3, kSlower = 1.02;
    const double from = now();
    double best[2] = {-1, -1};
    for (int round = 0; round < (isSim ? 1 : kMostRounds) && now() - from < kMostSeconds; ++round)
      for (int i : {0, 1}) {
        TCC_ASSIGN_OR_RETURN(const double seconds, measurer->time(i));
        best[i] = best[i] < 0 ? seconds : std::min(best[i], seconds);
      }
    *record = {{{{}, best[0]}, {{1}, best[1]}}, best[1] > best[0] * kSlower ? size_t{0} : size_t{1}};
    return absl::OkStatus();
  }

  ModuleOp module;
  const DeviceAutotuneOptions &options;
  const std::function<void(int, int)> &progress;
  TuningStore store;
  double start;
  bool isSim = false;
  MeasureDevice device;
  std::unique_ptr<Measurer> measurer;
  std::string environment;
  std::vector<Group> groups;
  std::map<std::string, size_t> byText;
  TuningSummary summary;
  int done = 0, total = 0;
};

} // namespace

TuningSummary autotuneDeviceKernels(ModuleOp module, const DeviceAutotuneOptions &options,
                                    const std::function<void(int done, int total)> &progress) {
  return DeviceTuner(module, options, progress).run();
}

} // namespace tcc::compiler
