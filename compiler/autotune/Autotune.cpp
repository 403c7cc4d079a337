//===- Autotune.cpp - schedules chosen by measurement ---------------------===//
#include "compiler/autotune/Autotune.h"

#include <chrono>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "compiler/autotune/Candidates.h"
#include "compiler/autotune/Choose.h"
#include "compiler/autotune/Kernels.h"
#include "compiler/autotune/TuningStore.h"
#include "compiler/version.h"
#include "ir/Extents.h"
#include "runtime/cpu_features.h"
#include "runtime/logs.h"
#include "runtime/thread_pool.h"

using namespace mlir;

namespace tcc::compiler {
namespace {

using codegen::CpuDescription;
using codegen::gemm::GemmTiles;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<int64_t> parametersOf(const std::optional<GemmTiles> &tiles) {
  if (!tiles)
    return {};
  return {tiles->lanes, tiles->rows, tiles->vectors, tiles->rowTiles, tiles->panels, tiles->kBlock};
}

std::string describe(const std::optional<GemmTiles> &tiles) {
  if (!tiles)
    return "default";
  return absl::StrCat(tiles->rows, "x", tiles->panelWidth(), " tiles, ", tiles->rowTiles, "x", tiles->panels,
                      " in an item, k ", tiles->kBlock);
}

/// Kernels that are equal but for their names and where they came from.
struct Group {
  std::string key;
  std::vector<ir::KernelOp> kernels;
  std::vector<std::optional<GemmTiles>> tiles; ///< the default first
  std::string name() const { return nameOf(kernels.front()); }
};

class Tuner {
public:
  Tuner(ModuleOp module, const AutotuneOptions &options, const std::function<void(int, int)> &progress,
        CpuDescription cpu)
      : options(options), progress(progress), cpu(std::move(cpu)), store(options.store), start(now()) {
    collect(module);
  }

  TuningSummary run() {
    summary.kernels = static_cast<int>(groups.size());
    std::vector<Group *> unknown;
    for (Group &group : groups) {
      if (reuse(group))
        continue;
      unknown.push_back(&group);
      total += static_cast<int>(group.tiles.size());
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
      done += static_cast<int>(group->tiles.size());
    }
    if (total > 0)
      progress(done, total);
    return summary;
  }

private:
  void collect(ModuleOp module) {
    // Everything that decides about speed and is not in the kernel.
    llvm::Expected<CpuDescription> host = codegen::describeCpu("");
    std::string machine = host ? host->name : "";
    if (!host)
      llvm::consumeError(host.takeError());
    const std::string environment = absl::StrCat(
        "tcc ", kVersion, " LLVM ", kLlvmVersion, "\ncpu ", cpu.name, " ", cpu.features, " on ", machine, "\ncaches ",
        cpu.l1Bytes, " ", cpu.l2Bytes, " ", cpu.l3Bytes, "\nthreads ", ThreadPool::Global().threads(), "\n");
    std::map<std::string, size_t> known;
    module.walk([&](ir::KernelOp kernel) {
      std::vector<GemmTiles> tiles = codegen::gemm::scheduleCandidates(kernel, cpu);
      if (tiles.size() < 2)
        return;
      const std::vector<int64_t> symbols = valuesOf(ir::getSymbols(kernel), options.symbol_values);
      std::string key = absl::StrCat(environment, textOf(kernel, symbols));
      auto [entry, added] = known.try_emplace(key, groups.size());
      if (!added) {
        groups[entry->second].kernels.push_back(kernel);
        return;
      }
      // The first one is what the schedule takes by itself.
      Group group{std::move(key), {kernel}, {std::nullopt}};
      group.tiles.insert(group.tiles.end(), tiles.begin() + 1, tiles.end());
      limitConstants(group);
      groups.push_back(std::move(group));
    });
  }

  /// Each candidate packs the weights in its own way: as many candidates as fit.
  static void limitConstants(Group &group) {
    constexpr double kMost = 2e9;
    double bytes = 1;
    ir::KernelOp kernel = group.kernels.front();
    for (Value input : kernel.getInputs())
      if (input.getDefiningOp<ir::ConstantOp>()) {
        auto type = cast<RankedTensorType>(input.getType());
        if (type.hasStaticShape())
          bytes += static_cast<double>(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
      }
    const auto fits = static_cast<size_t>(std::max(1.0, kMost / (2 * bytes)));
    if (group.tiles.size() > fits)
      group.tiles.resize(fits);
  }

  void apply(Group &group, const std::optional<GemmTiles> &tiles) {
    if (!tiles)
      return;
    ++summary.changed;
    for (ir::KernelOp kernel : group.kernels)
      codegen::gemm::setTiles(kernel, *tiles);
  }

  bool reuse(Group &group) {
    std::optional<TuningRecord> record = store.find(group.key);
    if (!record)
      return false;
    // Only what could win here: the file may hold anything.
    for (const std::optional<GemmTiles> &tiles : group.tiles) {
      if (parametersOf(tiles) != record->candidates[record->winner].parameters)
        continue;
      ++summary.reused;
      Log("autotuning", absl::StrCat(group.name(), ": known: ", describe(tiles)));
      apply(group, tiles);
      return true;
    }
    return false;
  }

  void measure(Group &group, std::string *why) {
    ir::KernelOp kernel = group.kernels.front();
    if (group.tiles.size() < 2) {
      *why = "its weights are too large";
      return;
    }
    Candidates candidates(kernel, cpu, group.tiles, valuesOf(ir::getSymbols(kernel), options.symbol_values));
    const bool ready = candidates.prepare(why);
    for (size_t i = 0; i < candidates.size(); ++i)
      if (!candidates.fault(i).empty()) {
        ++(candidates.fault(i) == kSameCode ? summary.pruned : summary.dropped);
        Log("autotuning", absl::StrCat(group.name(), ": ", describe(group.tiles[i]), ": ", candidates.fault(i)));
      }
    if (!ready) {
      if (candidates.isLasting()) // not tried again
        store.add(group.key, {{{{}, -1}}, 0});
      return;
    }
    ChooseOptions choose;
    choose.seconds = options.seconds_per_kernel;
    const Choice choice = chooseFastest(
        static_cast<int>(candidates.size()), [&](int i) { return candidates.measure(static_cast<size_t>(i)); }, now,
        choose);
    TuningRecord record;
    record.winner = static_cast<size_t>(choice.winner);
    std::string text = group.name();
    for (size_t i = 0; i < candidates.size(); ++i) {
      record.candidates.push_back({parametersOf(group.tiles[i]), choice.seconds[i]});
      if (choice.seconds[i] < 0)
        continue;
      ++summary.measured;
      absl::StrAppend(&text, "\n  ", absl::StrFormat("%9.1f us  ", choice.seconds[i] * 1e6), describe(group.tiles[i]),
                      i == record.winner ? "  <- fastest" : "");
    }
    Log("autotuning", text);
    if (candidates.isLasting())
      store.add(group.key, record);
    apply(group, group.tiles[record.winner]);
  }

  const AutotuneOptions &options;
  const std::function<void(int, int)> &progress;
  CpuDescription cpu;
  TuningStore store;
  double start;
  std::vector<Group> groups;
  TuningSummary summary;
  int done = 0, total = 0;
};

} // namespace

TuningSummary autotuneKernels(ModuleOp module, const AutotuneOptions &options,
                              const std::function<void(int done, int total)> &progress) {
  llvm::Expected<CpuDescription> cpu = codegen::describeCpu(options.cpu);
  if (!cpu) {
    llvm::consumeError(cpu.takeError());
    return {};
  }
  if (const std::vector<std::string> missing = MissingCpuFeatures(cpu->required); !missing.empty()) {
    Warn(absl::StrCat("max-autotune: code for ", cpu->name, " cannot be measured on this machine, which lacks ",
                      absl::StrJoin(missing, ", "), "; the default schedules are used"));
    return {};
  }
  return Tuner(module, options, progress, *std::move(cpu)).run();
}

} // namespace tcc::compiler
