// tcc explain: what a model was compiled to, and why.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "compiler/cli/command.h"
#include "compiler/cli/repeats.h"
#include "runtime/file_util.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string ExtentText(const Signature& signature, const Extent& extent) {
  if (extent.symbol >= 0) return signature.symbols[static_cast<size_t>(extent.symbol)].name;
  return extent.value < 0 ? "?" : absl::StrCat(extent.value);
}

template <typename Spec>
std::string SpecText(const Signature& signature, const Spec& spec) {
  std::vector<std::string> extents;
  extents.reserve(spec.dims.size());
  for (const Extent& extent : spec.dims) extents.push_back(ExtentText(signature, extent));
  return absl::StrCat(spec.name, ": ", std::string(DTypeName(spec.dtype)), "[", absl::StrJoin(extents, ","), "]");
}

std::vector<std::string> Guards(const Signature& signature) {
  std::vector<std::string> guards;
  for (const InputSpec& input : signature.inputs) {
    if (input.absent) {
      guards.push_back(absl::StrCat(input.name, " is left out"));
      continue;
    }
    guards.push_back(SpecText(signature, input));
    if (input.values) {
      guards.push_back(absl::StrCat(input.name, " is [", absl::StrJoin(*input.values, ", "), "]"));
    }
  }
  for (const Symbol& symbol : signature.symbols) {
    std::string text = absl::StrCat(symbol.name, " >= ", symbol.min);
    if (symbol.max != kMaxExtent) absl::StrAppend(&text, ", <= ", symbol.max);
    if (symbol.multiple_of > 1) absl::StrAppend(&text, ", a multiple of ", symbol.multiple_of);
    guards.push_back(std::move(text));
  }
  return guards;
}

// Work and traffic depend on extents: for those of the call, or where it is none of this code, or there is no call, for
// the smallest. Says which.
std::string EstimateFor(const std::vector<Tensor>* call, CompileEvent* event) {
  const Signature& signature = event->signature;
  std::vector<int64_t> symbols;
  if (call == nullptr || call->size() != signature.inputs.size() || !CheckGuards(signature, *call, &symbols).ok()) {
    symbols.clear();
    for (const Symbol& symbol : signature.symbols) symbols.push_back(std::max<int64_t>(1, symbol.min));
  }
  EstimateFor(symbols, &event->kernels);
  std::vector<std::string> extents;
  for (size_t i = 0; i < signature.symbols.size() && i < symbols.size(); ++i) {
    extents.push_back(absl::StrCat(signature.symbols[i].name, " = ", symbols[i]));
  }
  return extents.empty() ? "" : absl::StrCat(" (for ", absl::StrJoin(extents, ", "), ")");
}

// The model's nodes that a kernel does, each once: several of its sources may come of one node, "node 'c1' (Conv)
// (add)".
std::string Nodes(const KernelRecord& kernel) {
  std::vector<std::string> nodes;
  for (const std::string& source : kernel.sources) {
    std::string node = source;
    if (const size_t op = source.rfind(") ("); op != std::string::npos) node.resize(op + 1);
    if (absl::StartsWith(node, "node ")) node.erase(0, 5);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(std::move(node));
  }
  return nodes.empty() ? kernel.name : absl::StrJoin(nodes, ", ");
}

// What a kernel does, whichever nodes it does it for: its schedule, launches and kinds of ops (in any order: what
// layers have in common is named after the first).
std::string Kind(const KernelRecord& kernel) {
  std::set<std::string> ops;
  for (const std::string& source : kernel.sources) {
    const size_t op = source.rfind(" (");
    std::string kind = op == std::string::npos ? source : source.substr(op + 2, source.size() - op - 3);
    if (kind != "broadcast" && kind != "reshape" && kind != "slice" && kind != "transpose") ops.insert(std::move(kind));
  }
  return absl::StrCat(kernel.schedule, " ", kernel.launches, " ", absl::StrJoin(ops, " "));
}

// Layers: what the list of kernels repeats.
std::vector<Repeat> Layers(const CompileEvent& event) {
  std::vector<std::string> kinds;
  kinds.reserve(event.kernels.size());
  for (const KernelRecord& kernel : event.kernels) kinds.push_back(Kind(kernel));
  return FindRepeats(kinds);
}

// Launches of generated kernels and calls of library kernels in one layer.
std::pair<int, int> LaunchesOf(const CompileEvent& event, const Repeat& layer) {
  int launches = 0, calls = 0;
  for (size_t i = layer.first; i < layer.first + layer.length; ++i) {
    const KernelRecord& kernel = event.kernels[i];
    (kernel.schedule.empty() ? calls : launches) += std::max(1, kernel.launches);
  }
  return {launches, calls};
}

struct ExplainCommand {
  std::string model, html;
  CompileFlags compile;
  InputFlags inputs;
  bool json = false;
  std::vector<std::string> estimated_for;  // by graph

  absl::Status Run() {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(model, &options));
    Session::Config config;
    config.options = std::move(options);
    config.allow_fallback = compile.allow_fallback();
    config.progress = TerminalProgress();
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Session::Open(model, std::move(config)));
    // With inputs the call is run too, for the time that each kernel takes.
    const absl::StatusOr<std::vector<Tensor>> tensors = inputs.Load(*session);
    std::map<std::string, double> ms;
    if (tensors.ok()) {
      std::vector<Tensor> outputs;
      TCC_RETURN_IF_ERROR(session->Run(*tensors, RunOptions(), &outputs));
      const ProfileHook hook = [&](const ProfileEvent& event) {
        if (event.kind == "launch" || event.kind == "library") {
          ms[std::string(event.name)] += static_cast<double>(event.end_ns - event.start_ns) / 1e6;
        }
      };
      RunOptions profiled;
      profiled.profile = &hook;
      TCC_RETURN_IF_ERROR(session->Run(*tensors, profiled, &outputs));
    } else if (session->is_package() && inputs.empty()) {
      TCC_RETURN_IF_ERROR(session->PrepareAll());
    } else if (session->is_package()) {
      return tensors.status();  // which specialisation is meant follows from the inputs themselves
    } else {
      TCC_ASSIGN_OR_RETURN(const CallTypes types, inputs.Types(*session));
      TCC_RETURN_IF_ERROR(session->Prepare(types).status());
    }
    ClearProgress();
    std::vector<CompileEvent> events = session->events();
    estimated_for.clear();
    for (CompileEvent& event : events) estimated_for.push_back(EstimateFor(tensors.ok() ? &*tensors : nullptr, &event));
    if (!html.empty()) TCC_RETURN_IF_ERROR(WriteFileAtomically(html, Html(events, ms)));
    if (json) {
      std::printf("%s\n", ToJson(events, ms).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else {
      Print(events, ms);
    }
    return absl::OkStatus();
  }

  static std::string Precision(const CompileEvent& event) {
    if (event.precision == "model") return "of the model";
    if (event.precision == "f32") return "f32";
    if (event.precision == "tf32")
      return "tf32 (GPUs multiply float32 on tensor cores, rounded to 10 bits of mantissa)";
    return absl::StrCat(event.precision, " (weights and activations; sums in f32, inputs and outputs as they are)");
  }

  struct Totals {
    int generated = 0, device_library = 0, library = 0;
    int launches = 0;  // of what is no library call on the host
    bool device = false;
    double flops = 0, bytes = 0, ms = 0, library_ms = 0;
  };
  static Totals Sum(const CompileEvent& event, const std::map<std::string, double>& ms) {
    Totals totals;
    for (const KernelRecord& kernel : event.kernels) {
      ++(kernel.schedule.empty()               ? totals.library
         : kernel.schedule == "device library" ? totals.device_library
                                               : totals.generated);
      if (!kernel.schedule.empty()) totals.launches += kernel.launches;
      totals.device |= !kernel.device_launches.empty();
      totals.flops += kernel.flops;
      totals.bytes += kernel.bytes;
      const auto it = ms.find(kernel.name);
      if (it == ms.end()) continue;
      totals.ms += it->second;
      if (kernel.schedule.empty()) totals.library_ms += it->second;
    }
    return totals;
  }

  static nlohmann::json ToJson(const std::vector<CompileEvent>& events, const std::map<std::string, double>& ms) {
    nlohmann::json graphs = nlohmann::json::array();
    for (const CompileEvent& event : events) {
      const Totals totals = Sum(event, ms);
      nlohmann::json kernels = KernelsToJson(event.kernels);
      for (nlohmann::json& kernel : kernels) {
        kernel.erase("flops_text");
        kernel.erase("bytes_text");
        const auto it = ms.find(kernel["name"].get<std::string>());
        if (it != ms.end()) kernel["ms"] = it->second;
      }
      nlohmann::json graph = {{"guards", Guards(event.signature)},
                              {"mode", event.mode},
                              {"precision", event.precision},
                              {"target", event.target},
                              {"reason", event.reason},
                              {"package", event.package},
                              {"cache", event.hit ? "hit" : "miss"},
                              {"kernels_generated", totals.generated},
                              {"kernels_device_library", totals.device_library},
                              {"kernels_library", totals.library},
                              {"launches", totals.launches},
                              {"flops", totals.flops},
                              {"bytes", totals.bytes},
                              {"kernels", kernels}};
      graph["layers"] = nlohmann::json::array();
      for (const Repeat& layer : Layers(event)) {
        const auto [launches, calls] = LaunchesOf(event, layer);
        graph["layers"].push_back({{"first", layer.first},
                                   {"kernels", layer.length},
                                   {"times", layer.times},
                                   {"launches", launches},
                                   {"library_calls", calls}});
      }
      if (!event.resources.empty()) graph["resources"] = ResourcesToJson(event.resources);
      if (totals.ms > 0) {
        graph["library_time_share"] = totals.library_ms / totals.ms;
        graph["generated_time_share"] = 1 - totals.library_ms / totals.ms;
      }
      graphs.push_back(std::move(graph));
    }
    std::vector<std::string> recompiles;
    for (const CompileEvent& event : events) {
      if (!event.reason.empty()) recompiles.push_back(event.reason);
    }
    return {{"graphs", graphs}, {"graph_breaks", nlohmann::json::array()}, {"recompiles", recompiles}};
  }

  void Print(const std::vector<CompileEvent>& events, const std::map<std::string, double>& ms) const {
    std::printf("graphs: %zu\ngraph breaks: 0\n", events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      const CompileEvent& event = events[i];
      const Totals totals = Sum(event, ms);
      std::printf("\ngraph %zu\n", i);
      if (!event.reason.empty()) {
        std::printf("  recompiled, since none of those before would do:\n    %s\n",
                    absl::StrReplaceAll(event.reason, {{"\n", "\n    "}}).c_str());
      }
      std::printf("  package: %s (cache %s)\n", event.package.c_str(), event.hit ? "hit" : "miss");
      std::printf("  target %s, mode %s, precision %s\n", event.target.c_str(), event.mode.c_str(),
                  Precision(event).c_str());
      std::printf("  guards:\n");
      for (const std::string& guard : Guards(event.signature)) std::printf("    %s\n", guard.c_str());
      std::printf("  outputs:\n");
      for (const OutputSpec& output : event.signature.outputs) {
        std::printf("    %s\n", SpecText(event.signature, output).c_str());
      }
      std::string launches;
      if (totals.device_library > 0)
        absl::StrAppend(&launches, " and ", totals.device_library, " of the device library");
      if (totals.device) absl::StrAppend(&launches, " in ", totals.launches, " launches");
      std::printf("  kernels: %d generated%s, %d library calls%s; %.4g MFLOP, %.4g MB%s\n", totals.generated,
                  launches.c_str(), totals.library, totals.device ? " on the host" : "", totals.flops / 1e6,
                  totals.bytes / 1e6, estimated_for[i].c_str());
      if (totals.ms > 0) {
        std::printf("  time: %.3f ms, %.1f %% in library kernels\n", totals.ms, 100 * totals.library_ms / totals.ms);
      }
      const std::vector<Repeat> layers = Layers(event);
      for (const Repeat& layer : layers) {
        const auto [launches, calls] = LaunchesOf(event, layer);
        std::printf("  layer: %d launches%s, %zu times; kernels %zu to %zu and the like\n", launches,
                    calls > 0 ? absl::StrCat(" and ", calls, " library calls").c_str() : "", layer.times, layer.first,
                    layer.first + layer.length - 1);
      }
      for (size_t k = 0; k < event.kernels.size(); ++k) {
        const KernelRecord& kernel = event.kernels[k];
        std::printf("    %3zu %-14s", k, kernel.schedule.empty() ? "library" : kernel.schedule.c_str());
        if (const auto it = ms.find(kernel.name); it != ms.end()) std::printf(" %8.3f ms", it->second);
        std::printf(" %10.4g MFLOP %9.4g MB  %s\n", kernel.flops / 1e6, kernel.bytes / 1e6, Nodes(kernel).c_str());
        for (const LaunchRecord& launch : kernel.device_launches) {
          std::printf("      %s: grid %s, block %s", launch.symbol.c_str(), launch.grid.c_str(), launch.block.c_str());
          if (!launch.shared.empty()) std::printf(", %s bytes of dynamic shared memory", launch.shared.c_str());
          std::printf("\n");
        }
      }
      PrintResources(event);
    }
  }

  static void PrintResources(const CompileEvent& event) {
    if (event.resources.empty()) return;
    std::printf(
        "  resources (registers and spilled bytes of a thread, shared memory of a block; occupancy: threads that can\n"
        "  be resident, of what a multiprocessor holds):\n");
    std::printf("    %-48s %-9s %9s %7s %7s %9s\n", "kernel", "arch", "registers", "spills", "shared", "occupancy");
    for (const ResourceRecord& record : event.resources) {
      const std::string occupancy = record.occupancy > 0 ? absl::StrFormat("%.0f %%", 100 * record.occupancy) : "-";
      std::printf("    %-48s %-9s %9d %7" PRId64 " %7" PRId64 " %9s\n", record.symbol.c_str(), record.arch.c_str(),
                  record.registers, record.spill_bytes, record.shared_bytes, occupancy.c_str());
    }
  }

  std::string Html(const std::vector<CompileEvent>& events, const std::map<std::string, double>& ms) const {
    std::string page =
        absl::StrCat("<!DOCTYPE html><meta charset=utf-8><title>", Escape(model),
                     "</title><style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
                     "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}td.n{text-align:right}</style><h1>",
                     Escape(model), "</h1><p>", events.size(), " graphs, 0 graph breaks</p>");
    for (size_t i = 0; i < events.size(); ++i) {
      const CompileEvent& event = events[i];
      const Totals totals = Sum(event, ms);
      absl::StrAppend(&page, "<h2>Graph ", i, "</h2><p>", Escape(event.reason), "</p><ul>");
      for (const std::string& guard : Guards(event.signature)) absl::StrAppend(&page, "<li>", Escape(guard), "</li>");
      absl::StrAppend(&page, "</ul><p>", totals.generated, " generated kernels, ", totals.library, " library calls, ",
                      totals.flops / 1e6, " MFLOP, ", totals.bytes / 1e6, " MB", Escape(estimated_for[i]), "</p>",
                      "<table><tr><th>schedule<th>ms<th>MFLOP<th>MB<th>nodes</tr>");
      for (const KernelRecord& kernel : event.kernels) {
        const auto it = ms.find(kernel.name);
        absl::StrAppend(&page, "<tr><td>", kernel.schedule.empty() ? "library" : Escape(kernel.schedule),
                        "<td class=n>", it == ms.end() ? "" : absl::StrCat(it->second), "<td class=n>",
                        kernel.flops / 1e6, "<td class=n>", kernel.bytes / 1e6, "<td>", Escape(Nodes(kernel)), "</tr>");
      }
      absl::StrAppend(&page, "</table>");
    }
    return page;
  }
};

}  // namespace

void AddExplainCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<ExplainCommand>();
  CLI::App* sub = app.add_subcommand("explain", "Shows graphs, guards and kernels of a model");
  sub->add_option("MODEL", command->model, "An .onnx model or a .tcc package")->required();
  command->inputs.AddTo(*sub);
  command->compile.AddTo(*sub);
  sub->add_option("--html", command->html, "Writes a report");
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer("Example: tcc explain model.onnx --random --html report.html");
  sub->callback([command, exit_code] {
    const absl::Status status = command->Run();
    *exit_code = status.ok() ? kOk : Fail(status);
  });
}

}  // namespace tcc::cli
