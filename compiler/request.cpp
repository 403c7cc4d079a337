#include "compiler/request.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc {

using Json = nlohmann::json;

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return "load";
    case Phase::kImport:
      return "import";
    case Phase::kSimplify:
      return "simplify";
    case Phase::kFuse:
      return "fuse";
    case Phase::kAutotune:
      return "autotune";
    case Phase::kCodegen:
      return "codegen";
    case Phase::kPackage:
      return "package";
  }
  return "invalid";
}

absl::StatusOr<Phase> ParsePhase(std::string_view name) {
  std::string known;
  for (Phase phase : kPhases) {
    const std::string candidate(PhaseName(phase));
    if (candidate == name) return phase;
    absl::StrAppend(&known, known.empty() ? "" : ", ", candidate);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown phase '", std::string(name), "'; there are ", known));
}

absl::StatusOr<EmitKind> ParseEmitKind(std::string_view name, const TargetSpec& target) {
  std::string known;
  const bool cpu = target.kind == TargetSpec::Kind::kCpu;
  bool of_another_target = false;
  for (const EmitKind& kind : kEmitKinds) {
    if (!(cpu ? kind.cpu : kind.cuda)) {
      of_another_target |= kind.name == name;
      continue;
    }
    if (kind.name == name) return kind;
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(kind.name));
  }
  if (of_another_target) {
    return absl::InvalidArgumentError(absl::StrCat("--emit: there is no '", std::string(name), "' text for a ",
                                                   cpu ? "CPU" : "CUDA", " target; there are ", known));
  }
  return absl::InvalidArgumentError(absl::StrCat("--emit: unknown '", std::string(name), "'; there are ", known));
}

namespace {

// Runs `read`, which may throw what the JSON library throws.
template <typename F>
auto Guarded(const char* what, F read) -> decltype(read()) {
  try {
    return read();
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", error.what()));
  }
}

absl::StatusOr<Signature> ReadSignature(const Json& json) {
  JsonReader reader;
  Signature signature = SignatureFromJson(reader, json);
  TCC_RETURN_IF_ERROR(reader.status("signature"));
  return signature;
}

}  // namespace

namespace {
// The largest error, and those of elements where given.
Json ToleranceToJson(const VerifyTolerance& tolerance) {
  if (!tolerance.elements) return Json::array({tolerance.max_error});
  return Json::array({tolerance.max_error, tolerance.elements->rtol, tolerance.elements->atol});
}
}  // namespace

Json RequestToJson(const CompileRequest& request) {
  return {{"model", request.model},
          {"options", OptionsToJson(request.options)},
          // (Not among the options: it is no part of keys and packages.)
          {"compile_timeout_seconds", request.options.compile_timeout_seconds},
          {"signature", SignatureToJson(request.signature)},
          {"small_values", request.small_values},
          {"symbol_values", request.symbol_values},
          {"constants", request.constants},
          {"package", request.package},
          {"constant_store", request.constant_store},
          {"kernel_cache", request.kernel_cache},
          {"tuning_store", request.tuning_store},
          {"to_phase", PhaseName(request.to_phase)},
          {"allow_fallback", request.allow_fallback},
          {"verify_inputs", request.verify_inputs},
          {"verify_tolerance", ToleranceToJson(request.verify_tolerance)},
          {"emit", request.emit}};
}

absl::StatusOr<CompileRequest> RequestFromJson(const Json& json) {
  return Guarded("compile request", [&]() -> absl::StatusOr<CompileRequest> {
    CompileRequest request;
    request.model = json.at("model").get<std::string>();
    TCC_ASSIGN_OR_RETURN(request.options, OptionsFromJson(json.at("options")));
    request.options.compile_timeout_seconds = json.at("compile_timeout_seconds").get<double>();
    TCC_ASSIGN_OR_RETURN(request.signature, ReadSignature(json.at("signature")));
    request.small_values = json.at("small_values").get<std::map<std::string, std::vector<int64_t>>>();
    request.symbol_values = json.at("symbol_values").get<std::vector<int64_t>>();
    request.constants = json.at("constants").get<std::map<std::string, std::string>>();
    request.package = json.at("package").get<std::string>();
    request.constant_store = json.at("constant_store").get<std::string>();
    request.kernel_cache = json.at("kernel_cache").get<std::string>();
    request.tuning_store = json.at("tuning_store").get<std::string>();
    TCC_ASSIGN_OR_RETURN(request.to_phase, ParsePhase(json.at("to_phase").get<std::string>()));
    request.allow_fallback = json.at("allow_fallback").get<bool>();
    request.verify_inputs = json.at("verify_inputs").get<std::string>();
    const std::vector<double> tolerance = json.at("verify_tolerance").get<std::vector<double>>();
    if (!tolerance.empty()) request.verify_tolerance.max_error = tolerance[0];
    if (tolerance.size() > 2) request.verify_tolerance.elements = {tolerance[1], tolerance[2]};
    request.emit = json.at("emit").get<std::vector<std::string>>();
    return request;
  });
}

namespace {

// An expression in postfix; nothing where it is not one.
std::optional<double> Evaluate(const std::string& text, absl::Span<const int64_t> symbols) {
  std::vector<double> stack;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word[0] == 's') {
      const size_t index = std::strtoull(word.c_str() + 1, nullptr, 10), colon = word.find(':');
      if (index < symbols.size()) {
        stack.push_back(static_cast<double>(symbols[index]));
      } else {
        stack.push_back(colon == std::string::npos ? 1 : std::strtod(word.c_str() + colon + 1, nullptr));
      }
      continue;
    }
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (*end == '\0') {
      stack.push_back(number);
      continue;
    }
    if (stack.size() < 2) return std::nullopt;
    const double b = stack.back();
    stack.pop_back();
    double& a = stack.back();
    if (word == "+") a += b;
    if (word == "*") a *= b;
    if (word == "/") a = std::floor(a / b);
    if (word == "ceil") a = std::ceil(a / b);
    if (word == "%") a -= b * std::floor(a / b);
  }
  if (stack.size() != 1) return std::nullopt;
  return stack[0];
}

}  // namespace

void EstimateFor(absl::Span<const int64_t> symbols, std::vector<KernelRecord>* kernels) {
  for (KernelRecord& kernel : *kernels) {
    kernel.flops = Evaluate(kernel.flops_text, symbols).value_or(kernel.flops);
    kernel.bytes = Evaluate(kernel.bytes_text, symbols).value_or(kernel.bytes);
  }
}

Json KernelsToJson(const std::vector<KernelRecord>& kernels) {
  Json json = Json::array();
  for (const KernelRecord& kernel : kernels) {
    json.push_back({{"name", kernel.name},
                    {"sources", kernel.sources},
                    {"schedule", kernel.schedule},
                    {"launches", kernel.launches},
                    {"flops", kernel.flops},
                    {"bytes", kernel.bytes},
                    {"flops_text", kernel.flops_text},
                    {"bytes_text", kernel.bytes_text}});
    if (kernel.device_launches.empty()) continue;
    Json& launches = json.back()["device_launches"] = Json::array();
    for (const LaunchRecord& launch : kernel.device_launches) {
      launches.push_back({{"kernel", launch.symbol}, {"grid", launch.grid}, {"block", launch.block}});
      if (!launch.shared.empty()) launches.back()["shared"] = launch.shared;
    }
  }
  return json;
}

absl::StatusOr<std::vector<KernelRecord>> KernelsFromJson(const Json& json) {
  return Guarded("kernels", [&]() -> absl::StatusOr<std::vector<KernelRecord>> {
    std::vector<KernelRecord> kernels;
    for (const Json& item : json) {
      KernelRecord& kernel = kernels.emplace_back();
      kernel.name = item.at("name").get<std::string>();
      kernel.sources = item.at("sources").get<std::vector<std::string>>();
      kernel.schedule = item.at("schedule").get<std::string>();
      kernel.launches = item.at("launches").get<int>();
      kernel.flops = item.at("flops").get<double>();
      kernel.bytes = item.at("bytes").get<double>();
      kernel.flops_text = item.value("flops_text", "");
      kernel.bytes_text = item.value("bytes_text", "");
      for (const Json& launch : item.value("device_launches", Json::array())) {
        kernel.device_launches.push_back({launch.at("kernel").get<std::string>(), launch.at("grid").get<std::string>(),
                                          launch.at("block").get<std::string>(), launch.value("shared", "")});
      }
    }
    return kernels;
  });
}

Json ResourcesToJson(const std::vector<ResourceRecord>& resources) {
  Json json = Json::array();
  for (const ResourceRecord& record : resources) {
    json.push_back({{"kernel", record.symbol},
                    {"arch", record.arch},
                    {"registers", record.registers},
                    {"spill_bytes", record.spill_bytes},
                    {"shared_bytes", record.shared_bytes},
                    {"occupancy", record.occupancy}});
  }
  return json;
}

absl::StatusOr<std::vector<ResourceRecord>> ResourcesFromJson(const Json& json) {
  return Guarded("resources", [&]() -> absl::StatusOr<std::vector<ResourceRecord>> {
    std::vector<ResourceRecord> resources;
    for (const Json& item : json) {
      resources.push_back({item.at("kernel").get<std::string>(), item.at("arch").get<std::string>(),
                           item.at("registers").get<int>(), item.at("spill_bytes").get<int64_t>(),
                           item.at("shared_bytes").get<int64_t>(), item.at("occupancy").get<double>()});
    }
    return resources;
  });
}

namespace {

template <typename Function>
void ForEachField(TuningSummary& tuning, const Function& function) {
  function("kernels", tuning.kernels);
  function("reused", tuning.reused);
  function("skipped", tuning.skipped);
  function("measured", tuning.measured);
  function("pruned", tuning.pruned);
  function("dropped", tuning.dropped);
  function("changed", tuning.changed);
  function("reverted", tuning.reverted);
}

}  // namespace

Json TuningToJson(TuningSummary tuning) {
  Json json;
  ForEachField(tuning, [&](const char* name, int& value) { json[name] = value; });
  return json;
}

Json ReplyToJson(const CompileReply& reply) {
  Json json = {{"phase_ms", reply.phase_ms},
               {"signature", SignatureToJson(reply.signature)},
               {"kernels", KernelsToJson(reply.kernels)},
               {"emitted", reply.emitted},
               {"warnings", reply.warnings},
               {"tuning", TuningToJson(reply.tuning)},
               {"narrowed", reply.narrowed},
               {"resources", ResourcesToJson(reply.resources)},
               {"peak_rss_bytes", reply.peak_rss_bytes}};
  if (reply.verification) {
    json["verification"] = {{"agrees", reply.verification->agrees},
                            {"max_error", reply.verification->max_error},
                            {"where", reply.verification->where},
                            {"reproducer", reply.verification->reproducer}};
  }
  return json;
}

absl::StatusOr<CompileReply> ReplyFromJson(const Json& json) {
  return Guarded("compile reply", [&]() -> absl::StatusOr<CompileReply> {
    CompileReply reply;
    reply.phase_ms = json.at("phase_ms").get<std::vector<std::pair<std::string, double>>>();
    TCC_ASSIGN_OR_RETURN(reply.signature, ReadSignature(json.at("signature")));
    TCC_ASSIGN_OR_RETURN(reply.kernels, KernelsFromJson(json.at("kernels")));
    TCC_ASSIGN_OR_RETURN(reply.resources, ResourcesFromJson(json.at("resources")));
    reply.emitted = json.at("emitted").get<std::map<std::string, std::string>>();
    reply.warnings = json.at("warnings").get<std::vector<std::string>>();
    reply.narrowed = json.at("narrowed").get<std::string>();
    if (const auto it = json.find("verification"); it != json.end()) {
      // JSON has no infinity: it comes as null.
      const Json& error = it->at("max_error");
      reply.verification =
          Verification{it->at("agrees").get<bool>(),
                       error.is_number() ? error.get<double>() : std::numeric_limits<double>::infinity(),
                       it->at("where").get<std::string>(), it->at("reproducer").get<std::string>()};
    }
    ForEachField(reply.tuning, [tuning = json.at("tuning")](const char* name, int& value) { value = tuning.at(name); });
    reply.peak_rss_bytes = json.at("peak_rss_bytes").get<int64_t>();
    return reply;
  });
}

Json StatusToJson(const absl::Status& status) {
  return {{"code", static_cast<int>(status.code())}, {"message", std::string(status.message())}};
}

absl::Status StatusFromJson(const Json& json) {
  return Guarded("status", [&]() -> absl::Status {
    return absl::Status(static_cast<absl::StatusCode>(json.at("code").get<int>()),
                        json.at("message").get<std::string>());
  });
}

}  // namespace tcc
