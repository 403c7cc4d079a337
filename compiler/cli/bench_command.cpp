// tcc bench: how long calls take: the first with an empty cache, the first in a session that finds the model compiled,
// and those after it.
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "compiler/cli/command.h"
#include "runtime/file_util.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Of a sorted list, by the nearest rank.
double Percentile(const std::vector<double>& sorted, double p) {
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::min(std::max<size_t>(rank, 1), sorted.size()) - 1];
}

struct BenchCommand {
  std::string model, profile;
  CompileFlags compile;
  InputFlags inputs;
  int threads = 0;
  double warmup_ms = 500, duration_ms = 3000;
  int64_t iterations = 0;
  bool json = false, skip_cold = false;

  absl::StatusOr<std::shared_ptr<Session>> Open(ArtifactCache* cache) const {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(model, &options));
    Session::Config config;
    config.options = std::move(options);
    config.allow_fallback = compile.allow_fallback();
    config.cache = cache;
    config.progress = TerminalProgress();
    return Session::Open(model, std::move(config));
  }

  absl::Status Run() {
    if (threads > 0) ::setenv("TCC_NUM_THREADS", absl::StrCat(threads).c_str(), 1);
    // A cache of its own: the user's may have the model already, and keeps its order.
    std::shared_ptr<ArtifactCache> cache;
    std::string folder;
    absl::Cleanup remove = [&] {
      std::error_code ignored;
      if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    };
    if (!skip_cold) {
      folder = absl::StrCat(TemporaryFolder(), "/tcc-bench-XXXXXX");
      if (::mkdtemp(folder.data()) == nullptr) return ErrnoStatus(errno, folder, "create");
      ArtifactCache::Options options;
      options.folder = folder;
      cache = ArtifactCache::Open(options);
    }
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> cold, Open(cache.get()));
    TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, inputs.Load(*cold));
    std::vector<Tensor> outputs;
    auto start = Clock::now();
    TCC_RETURN_IF_ERROR(cold->Run(tensors, RunOptions(), &outputs));
    const double cold_ms = MsSince(start);
    ClearProgress();
    // Nothing of a package is compiled.
    const std::vector<CompileEvent> events = cold->events();
    const bool compiled = !skip_cold && !events.empty() && !events[0].hit;

    start = Clock::now();
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Open(cache.get()));
    TCC_RETURN_IF_ERROR(session->Run(tensors, RunOptions(), &outputs));
    const double first_ms = MsSince(start);
    outputs.clear();

    for (start = Clock::now(); MsSince(start) < warmup_ms;) {
      TCC_RETURN_IF_ERROR(session->Run(tensors, RunOptions(), &outputs));
    }
    std::vector<double> times;
    const auto begin = Clock::now();
    while (iterations > 0 ? static_cast<int64_t>(times.size()) < iterations
                          : times.empty() || MsSince(begin) < duration_ms) {
      start = Clock::now();
      TCC_RETURN_IF_ERROR(session->Run(tensors, RunOptions(), &outputs));
      times.push_back(MsSince(start));
    }
    const double total_ms = MsSince(begin);
    if (!profile.empty()) TCC_RETURN_IF_ERROR(Profile(*session, tensors));
    Report(compiled ? std::optional(cold_ms) : std::nullopt, first_ms, std::move(times), total_ms);
    return absl::OkStatus();
  }

  // One call as a Chrome trace (chrome://tracing, ui.perfetto.dev): an event for each kernel, with the ops it does;
  // around those of a branch or loop one for it.
  absl::Status Profile(Session& session, const std::vector<Tensor>& tensors) const {
    std::map<std::string, KernelRecord> kernels;
    for (CompileEvent& event : session.events()) {
      std::vector<int64_t> symbols;
      const bool runs =
          tensors.size() == event.signature.inputs.size() && CheckGuards(event.signature, tensors, &symbols).ok();
      if (runs) EstimateFor(symbols, &event.kernels);
      for (const KernelRecord& kernel : event.kernels) kernels.emplace(kernel.name, kernel);
    }
    nlohmann::json events = nlohmann::json::array();
    const ProfileHook hook = [&](const ProfileEvent& event) {
      const std::string name(event.name);
      const double start = static_cast<double>(event.start_ns) / 1e3, end = static_cast<double>(event.end_ns) / 1e3;
      const auto kernel = kernels.find(name);
      const bool runs = event.kind == "launch" || event.kind == "library";
      if (!runs && event.kind != "if" && event.kind != "loop") return;
      // Launches of one kernel follow each other.
      if (event.kind == "launch" && !events.empty() && events.back()["name"] == name) {
        events.back()["dur"] = end - events.back()["ts"].get<double>();
        return;
      }
      nlohmann::json args = nlohmann::json::object();
      if (kernel != kernels.end()) {
        const KernelRecord& record = kernel->second;
        args = {{"sources", record.sources}, {"flops", record.flops}, {"bytes", record.bytes}};
        args["schedule"] = record.schedule.empty() ? "library" : record.schedule;
      }
      events.push_back({{"name", name},
                        {"cat", event.kind == "launch" ? "kernel" : std::string(event.kind)},
                        {"ph", "X"},
                        {"ts", start},
                        {"dur", end - start},
                        {"pid", 0},
                        {"tid", 0},
                        {"args", std::move(args)}});
    };
    RunOptions options;
    options.profile = &hook;
    std::vector<Tensor> outputs;
    TCC_RETURN_IF_ERROR(session.Run(tensors, options, &outputs));
    return WriteFileAtomically(profile, nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
                                            -1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  void Report(std::optional<double> cold_ms, double first_ms, std::vector<double> times, double total_ms) const {
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (double time : times) sum += time;
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto n = static_cast<double>(times.size());
    nlohmann::json result = {{"first_ms", first_ms},
                             {"min_ms", times.front()},
                             {"median_ms", Percentile(times, 0.5)},
                             {"mean_ms", sum / n},
                             {"p90_ms", Percentile(times, 0.9)},
                             {"p99_ms", Percentile(times, 0.99)},
                             {"calls_per_s", n / total_ms * 1e3},
                             {"calls", times.size()},
                             {"peak_rss_mb", static_cast<double>(usage.ru_maxrss) / 1024}};
    if (cold_ms) result["cold_ms"] = *cold_ms;
    if (json) {
      std::printf("%s\n", result.dump().c_str());
      return;
    }
    auto line = [&](const char* label, const char* key, const char* unit) {
      if (result.contains(key)) std::printf("%-24s %10.3f %s\n", label, result[key].get<double>(), unit);
    };
    line("first call, cold", "cold_ms", "ms");
    line("first call, cached", "first_ms", "ms");
    line("minimum", "min_ms", "ms");
    line("median", "median_ms", "ms");
    line("mean", "mean_ms", "ms");
    line("90th percentile", "p90_ms", "ms");
    line("99th percentile", "p99_ms", "ms");
    line("throughput", "calls_per_s", "calls/s");
    line("peak memory", "peak_rss_mb", "MB");
    std::printf("%zu calls\n", times.size());
  }
};

}  // namespace

void AddBenchCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* sub = app.add_subcommand("bench", "Measures how long calls take");
  sub->add_option("MODEL", command->model, "An .onnx model or a .tcc package")->required();
  command->inputs.AddTo(*sub);
  command->compile.AddTo(*sub);
  sub->add_option("--threads", command->threads, "Threads of one call; 0: as many as this process may use")
      ->check(CLI::Range(0, 1024));
  sub->add_option("--warmup", command->warmup_ms, "Milliseconds before measuring")->check(CLI::NonNegativeNumber);
  sub->add_option("--duration", command->duration_ms, "Milliseconds of measuring")->check(CLI::NonNegativeNumber);
  sub->add_option("--iterations", command->iterations, "Calls to measure, instead of --duration")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--skip-cold", command->skip_cold, "Use the cache, and do not measure compilation");
  sub->add_option("--profile", command->profile, "Writes a Chrome trace of one call");
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer("Example: tcc bench model.onnx --random --threads 2 --duration 5000");
  sub->callback([command, exit_code] {
    const absl::Status status = command->Run();
    *exit_code = status.ok() ? kOk : Fail(status);
  });
}

}  // namespace tcc::cli
