// Options as text: on the command line, in requests to the worker, in cache keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/include/tcc/options.h"
#include "nlohmann/json.hpp"
#include "runtime/dtype.h"

namespace tcc {

// The names of interfaces.md; errors list what there is.
absl::StatusOr<Mode> ParseMode(std::string_view text);
std::string_view ModeName(Mode mode);
absl::StatusOr<Precision> ParsePrecision(std::string_view text);
std::string_view PrecisionName(Precision precision);
absl::StatusOr<Numerics> ParseNumerics(std::string_view text);
std::string_view NumericsName(Numerics numerics);

// "cpu:x86-64-v3" -> {kCpu, "x86-64-v3", {}}, "cuda:sm_80,sm_90a" -> {kCuda, "", {"sm_80", "sm_90a"}}.
struct TargetSpec {
  enum class Kind { kCpu, kCuda, kCudaSim };
  Kind kind = Kind::kCpu;
  std::string name;  // kCpu: an LLVM CPU name; empty: this machine's
  // kCuda: of kCudaArchs, or the same with compute_ (PTX), without repeats; empty: that of the device there is.
  std::vector<std::string> archs;
};
// InvalidArgument for what is no target, with what there is.
absl::StatusOr<TargetSpec> ParseTarget(std::string_view text);
// GPU architectures that code is generated for.
inline constexpr std::string_view kCudaArchs[] = {"sm_80",  "sm_86",   "sm_87",  "sm_89",   "sm_90",  "sm_90a",
                                                  "sm_100", "sm_100a", "sm_103", "sm_103a", "sm_110", "sm_110a",
                                                  "sm_120", "sm_120a", "sm_121", "sm_121a"};

// An input as the user describes it: `f32[1,3,224,224]`, `[batch:1..64,3,h,w]`, `f32[n%8,?,_]`. An extent is
//   a number     static
//   a name       dynamic; with `:min..max` a range (`:min..` without an end), with `%n` a multiple of n
//   ?            dynamic without a name
//   _            not said
struct InputDescription {
  DType dtype = DType::kInvalid;  // not said
  std::vector<DimSpec> dims;
};
absl::StatusOr<InputDescription> ParseInputDescription(std::string_view text);
// `NAME=...` -> name and the rest. A name may contain '=': the last one before a '[' or a dtype counts.
absl::StatusOr<std::pair<std::string, std::string>> SplitNamed(std::string_view text);

// Extents of one name are one extent: each gets the intersection of what is said of it in all places. InvalidArgument
// where nothing is left, or an input is described twice.
absl::Status UnifyDynamic(std::vector<DynamicSpec>* specs);
// An extent that is as described: the smallest, but 0 and 1 only where there is no other.
int64_t ExampleExtent(const DimSpec& dim);
// "at least 3 and a multiple of 2".
std::string RangeText(const DimSpec& dim);

// Without compile_timeout_seconds, which changes nothing that is compiled.
nlohmann::json OptionsToJson(const Options& options);
absl::StatusOr<Options> OptionsFromJson(const nlohmann::json& json);
// What changes the compiled code, canonical: for cache keys.
std::string OptionsKey(const Options& options);

// Checks what can be checked without a model.
absl::Status ValidateOptions(const Options& options);
// InvalidArgument where options are set that decide how a model is compiled, and thus do nothing for a package.
absl::Status ValidateForPackage(const std::string& path, const Options& options);

}  // namespace tcc
