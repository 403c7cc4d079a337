#include "compiler/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/status.h"

namespace tcc {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

template <typename E, size_t N>
using NameTable = std::array<std::pair<E, std::string_view>, N>;

constexpr NameTable<Mode, 4> kModes = {{{Mode::kDefault, "default"},
                                        {Mode::kReduceOverhead, "reduce-overhead"},
                                        {Mode::kMaxAutotune, "max-autotune"},
                                        {Mode::kMaxAutotuneNoCudagraphs, "max-autotune-no-cudagraphs"}}};
constexpr NameTable<Precision, 5> kPrecisions = {{{Precision::kModel, "model"},
                                                  {Precision::kF32, "f32"},
                                                  {Precision::kBF16, "bf16"},
                                                  {Precision::kF16, "f16"},
                                                  {Precision::kTF32, "tf32"}}};
constexpr NameTable<Numerics, 2> kNumerics = {{{Numerics::kDefault, "default"}, {Numerics::kStrict, "strict"}}};

template <typename E, size_t N>
absl::StatusOr<E> Lookup(const NameTable<E, N>& table, std::string_view text, const char* what) {
  std::string known;
  for (const auto& [value, name] : table) {
    if (name == text) return value;
    absl::StrAppend(&known, known.empty() ? "" : ", ", View(name));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown ", what, " '", View(text), "'; there are ", known));
}

template <typename E, size_t N>
std::string_view Name(const NameTable<E, N>& table, E value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  return "invalid";
}

absl::StatusOr<int64_t> ParseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", View(text), "' is not a number of 0 or more"));
  }
  return value;
}

bool IsName(std::string_view text) {
  if (text.empty() || (!std::isalpha(static_cast<unsigned char>(text[0])) && text[0] != '_')) return false;
  for (unsigned char c : text) {
    if (!std::isalnum(c) && c != '_' && c != '.' && c != '-') return false;
  }
  return true;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

absl::StatusOr<DimSpec> ParseDim(std::string_view text) {
  DimSpec dim;
  if (text == "_") return dim;
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    dim.kind = DimSpec::Kind::kStatic;
    TCC_ASSIGN_OR_RETURN(dim.value, ParseNumber(text));
    return dim;
  }
  dim.kind = DimSpec::Kind::kDynamic;
  if (size_t at = text.find('%'); at != std::string_view::npos) {
    TCC_ASSIGN_OR_RETURN(dim.multiple_of, ParseNumber(text.substr(at + 1)));
    if (dim.multiple_of == 0) return absl::InvalidArgumentError("an extent cannot be a multiple of 0");
    text = text.substr(0, at);
  }
  if (size_t at = text.find(':'); at != std::string_view::npos) {
    std::string_view range = text.substr(at + 1);
    size_t dots = range.find("..");
    if (dots == std::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("'", View(range), "' is not a range like 1..64"));
    }
    TCC_ASSIGN_OR_RETURN(dim.min, ParseNumber(range.substr(0, dots)));
    if (dots + 2 < range.size()) {
      TCC_ASSIGN_OR_RETURN(dim.max, ParseNumber(range.substr(dots + 2)));
    }
    if (dim.min > dim.max) return absl::InvalidArgumentError(absl::StrCat("the range ", View(range), " is empty"));
    text = text.substr(0, at);
  }
  if (text == "?") return dim;
  if (!IsName(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(text), "' is not an extent: give a number, a name, NAME:MIN..MAX, NAME%N, ? or _"));
  }
  dim.name = text;
  return dim;
}

nlohmann::json DimToJson(const DimSpec& dim) {
  switch (dim.kind) {
    case DimSpec::Kind::kAutomatic:
      return nullptr;
    case DimSpec::Kind::kStatic:
      return dim.value;
    case DimSpec::Kind::kDynamic:
      return {{"name", dim.name}, {"min", dim.min}, {"max", dim.max}, {"multiple_of", dim.multiple_of}};
  }
  return nullptr;
}

DimSpec DimFromJson(const nlohmann::json& json) {
  DimSpec dim;
  if (json.is_number()) {
    dim.kind = DimSpec::Kind::kStatic;
    dim.value = json.get<int64_t>();
  } else if (json.is_object()) {
    dim.kind = DimSpec::Kind::kDynamic;
    dim.name = json.at("name").get<std::string>();
    dim.min = json.at("min").get<int64_t>();
    dim.max = json.at("max").get<int64_t>();
    dim.multiple_of = json.at("multiple_of").get<int64_t>();
  }
  return dim;
}

// "sm_90a" and the like, or "compute_90": the PTX of an architecture.
bool IsCudaArch(std::string_view arch) {
  constexpr std::string_view kPtx = "compute_";
  const std::string name =
      arch.rfind(kPtx, 0) == 0 ? absl::StrCat("sm_", View(arch.substr(kPtx.size()))) : std::string(arch);
  if (name != arch && arch.back() == 'a') return false;  // such PTX runs on no other architecture
  return std::find(std::begin(kCudaArchs), std::end(kCudaArchs), name) != std::end(kCudaArchs);
}

}  // namespace

absl::StatusOr<Mode> ParseMode(std::string_view text) { return Lookup(kModes, text, "mode"); }
std::string_view ModeName(Mode mode) { return Name(kModes, mode); }
absl::StatusOr<Precision> ParsePrecision(std::string_view text) { return Lookup(kPrecisions, text, "precision"); }
std::string_view PrecisionName(Precision precision) { return Name(kPrecisions, precision); }
absl::StatusOr<Numerics> ParseNumerics(std::string_view text) { return Lookup(kNumerics, text, "numerics"); }
std::string_view NumericsName(Numerics numerics) { return Name(kNumerics, numerics); }

absl::StatusOr<TargetSpec> ParseTarget(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view name = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (colon != std::string_view::npos && name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("target '", View(text), "' ends after the colon"));
  }
  TargetSpec target;
  if (kind == "cpu") {
    target.kind = TargetSpec::Kind::kCpu;
    target.name = name;
  } else if (kind == "cuda") {
    target.kind = TargetSpec::Kind::kCuda;
    if (!name.empty()) {
      for (const absl::string_view arch : absl::StrSplit(View(name), ',')) {
        if (!IsCudaArch({arch.data(), arch.size()})) {
          return absl::InvalidArgumentError(
              absl::StrCat("target '", View(text), "': unknown architecture '", arch, "'; there are ",
                           absl::StrJoin(kCudaArchs, ", ",
                                         [](std::string* out, std::string_view a) { absl::StrAppend(out, View(a)); }),
                           "; with compute_ instead of sm_, PTX for GPUs of that kind and newer ones"));
        }
        if (std::find(target.archs.begin(), target.archs.end(), arch) == target.archs.end()) {
          target.archs.emplace_back(arch);
        }
      }
    }
  } else if (kind == "cuda-sim" && name.empty()) {
    target.kind = TargetSpec::Kind::kCudaSim;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("unknown target '", View(text),
                                                   "'; there are cpu, cpu:NAME, cuda, cuda:sm_NN (several with "
                                                   "commas between them), cuda-sim"));
  }
  return target;
}

absl::StatusOr<InputDescription> ParseInputDescription(std::string_view text) {
  InputDescription description;
  const size_t open = text.find('[');
  const std::string_view dtype = Trim(text.substr(0, open));
  auto error = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(text), "' does not describe an input like f32[1,3,224,224]: ", why));
  };
  if (!dtype.empty()) {
    std::optional<DType> parsed = ParseDType(dtype);
    if (!parsed) return error(absl::StrCat("'", View(dtype), "' is not an element type"));
    description.dtype = *parsed;
  }
  if (open == std::string_view::npos || text.back() != ']') return error("the extents in brackets are missing");
  std::string_view inside = Trim(text.substr(open + 1, text.size() - open - 2));
  if (inside.empty()) return description;
  for (size_t at = 0; at <= inside.size();) {
    size_t comma = std::min(inside.find(',', at), inside.size());
    absl::StatusOr<DimSpec> dim = ParseDim(Trim(inside.substr(at, comma - at)));
    if (!dim.ok()) return error(dim.status().message());
    description.dims.push_back(*std::move(dim));
    at = comma + 1;
  }
  return description;
}

absl::StatusOr<std::pair<std::string, std::string>> SplitNamed(std::string_view text) {
  // The value is a file, a description or a list of extents; '=' in names is rare, in values rarer still.
  const size_t bracket = text.find('[');
  const size_t equals = text.substr(0, bracket).rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", View(text), "' is not of the form NAME=VALUE"));
  }
  return std::make_pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

std::string RangeText(const DimSpec& dim) {
  std::string text = dim.max == std::numeric_limits<int64_t>::max() ? absl::StrCat("at least ", dim.min)
                                                                    : absl::StrCat("from ", dim.min, " to ", dim.max);
  if (dim.multiple_of > 1) absl::StrAppend(&text, " and a multiple of ", dim.multiple_of);
  return text;
}

namespace {

// The smallest multiple that is at least `least`; beyond int64 there is none.
std::optional<int64_t> FirstMultiple(int64_t least, int64_t multiple_of) {
  const int64_t rest = least % multiple_of;
  int64_t value = least;
  if (rest != 0 && __builtin_add_overflow(least, multiple_of - rest, &value)) return std::nullopt;
  return value;
}

}  // namespace

int64_t ExampleExtent(const DimSpec& dim) {
  const std::optional<int64_t> plain = FirstMultiple(std::max<int64_t>(dim.min, 2), dim.multiple_of);
  if (plain && *plain <= dim.max) return *plain;
  return dim.max / dim.multiple_of * dim.multiple_of;
}

absl::Status UnifyDynamic(std::vector<DynamicSpec>* specs) {
  std::map<std::string, DimSpec> named;
  std::set<std::string> inputs;
  const auto check = [](const DynamicSpec& spec, const DimSpec& dim) -> absl::Status {
    const std::optional<int64_t> first = FirstMultiple(dim.min, dim.multiple_of);
    if (first && *first <= dim.max) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("input '", spec.input, "': no extent",
                                                   dim.name.empty() ? "" : absl::StrCat(" '", dim.name, "'"), " is ",
                                                   RangeText(dim)));
  };
  for (const DynamicSpec& spec : *specs) {
    if (!inputs.insert(spec.input).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.input, "' is described twice; give all its extents at once"));
    }
    for (const DimSpec& dim : spec.dims) {
      if (dim.kind != DimSpec::Kind::kDynamic) continue;
      TCC_RETURN_IF_ERROR(check(spec, dim));
      if (dim.name.empty()) continue;
      DimSpec& all = named.try_emplace(dim.name, dim).first->second;
      all.min = std::max(all.min, dim.min);
      all.max = std::min(all.max, dim.max);
      const int64_t shared = std::gcd(all.multiple_of, dim.multiple_of);
      if (__builtin_mul_overflow(all.multiple_of / shared, dim.multiple_of, &all.multiple_of)) {
        all.multiple_of = std::numeric_limits<int64_t>::max();
      }
      TCC_RETURN_IF_ERROR(check(spec, all));
    }
  }
  for (DynamicSpec& spec : *specs) {
    for (DimSpec& dim : spec.dims) {
      if (dim.kind == DimSpec::Kind::kDynamic && !dim.name.empty()) dim = named.at(dim.name);
    }
  }
  return absl::OkStatus();
}

nlohmann::json OptionsToJson(const Options& options) {
  nlohmann::json dynamic = nlohmann::json::array();
  for (const DynamicSpec& spec : options.dynamic) {
    nlohmann::json dims = nlohmann::json::array();
    for (const DimSpec& dim : spec.dims) dims.push_back(DimToJson(dim));
    dynamic.push_back({{"input", spec.input}, {"dims", std::move(dims)}});
  }
  return {{"mode", ModeName(options.mode)},
          {"target", options.target},
          {"fullgraph", options.fullgraph},
          {"precision", PrecisionName(options.precision)},
          {"numerics", NumericsName(options.numerics)},
          {"dynamic", std::move(dynamic)},
          {"recompile_limit", options.recompile_limit},
          {"external_data_roots", options.external_data_roots}};
}

absl::StatusOr<Options> OptionsFromJson(const nlohmann::json& json) {
  Options options;
  try {
    TCC_ASSIGN_OR_RETURN(options.mode, ParseMode(json.at("mode").get<std::string>()));
    options.target = json.at("target").get<std::string>();
    options.fullgraph = json.at("fullgraph").get<bool>();
    TCC_ASSIGN_OR_RETURN(options.precision, ParsePrecision(json.at("precision").get<std::string>()));
    TCC_ASSIGN_OR_RETURN(options.numerics, ParseNumerics(json.at("numerics").get<std::string>()));
    for (const nlohmann::json& spec : json.at("dynamic")) {
      DynamicSpec& dynamic = options.dynamic.emplace_back();
      dynamic.input = spec.at("input").get<std::string>();
      for (const nlohmann::json& dim : spec.at("dims")) dynamic.dims.push_back(DimFromJson(dim));
    }
    options.recompile_limit = json.at("recompile_limit").get<int>();
    options.external_data_roots = json.at("external_data_roots").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("options: ", error.what()));
  }
  return options;
}

std::string OptionsKey(const Options& options) {
  nlohmann::json json = OptionsToJson(options);
  // These decide which specialisations are asked for, not what is in one.
  json.erase("dynamic");
  json.erase("recompile_limit");
  // The roots stay: what one call may read is not found by another that may not.
  return json.dump();
}

absl::Status ValidateOptions(const Options& options) {
  TCC_RETURN_IF_ERROR(ParseTarget(options.target).status());
  if (options.recompile_limit < 1) return absl::InvalidArgumentError("recompile_limit must be at least 1");
  if (!(options.compile_timeout_seconds >= 0)) {
    return absl::InvalidArgumentError("compile_timeout_seconds must be 0 (no limit) or more");
  }
  return absl::OkStatus();
}

absl::Status ValidateForPackage(const std::string& path, const Options& options) {
  const Options none;
  std::vector<std::string> idle;
  // (Whether calls record the plan is a matter of running it.)
  if (options.mode != none.mode && options.mode != Mode::kReduceOverhead) idle.emplace_back("--mode");
  if (options.target != none.target) idle.emplace_back("--target");
  if (options.precision != none.precision) idle.emplace_back("--precision");
  if (options.numerics != none.numerics) idle.emplace_back("--numerics");
  if (!options.dynamic.empty()) idle.emplace_back("--dynamic");
  if (options.fullgraph != none.fullgraph) idle.emplace_back("--fullgraph");
  if (idle.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": a package is compiled already: ", absl::StrJoin(idle, ", "), idle.size() == 1 ? " has" : " have",
      " no effect; compile the model again with ", idle.size() == 1 ? "it" : "them"));
}

}  // namespace tcc
