#include "compiler/this_machine.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/cpu_features.h"
#include "runtime/devices/registry.h"
#include "runtime/status.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Size and time of a file, or of each file of a folder whose name begins so; links followed.
void Note(const fs::path& path, std::string_view prefix, std::vector<std::string>* parts) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator it(path, error); !error && it != fs::directory_iterator(); it.increment(error)) {
      if (absl::StartsWith(it->path().filename().string(), {prefix.data(), prefix.size()})) files.push_back(it->path());
    }
  } else {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    struct stat info = {};
    if (::stat(file.c_str(), &info) != 0) continue;
    parts->push_back(
        absl::StrCat(file.string(), " ", info.st_size, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec));
  }
}

void NoteNvrtc(std::vector<std::string>* parts) {
  constexpr std::string_view kLibrary = "libnvrtc.so";
  for (const char* name : {"TCC_NVRTC", "TCC_CUDA_INCLUDE", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"}) {
    const std::string value = Variable(name);
    parts->push_back(absl::StrCat(name, "=", value));
    if (value.empty()) continue;
    for (const char* folder : {"", "lib", "lib64"}) Note(fs::path(value) / folder, kLibrary, parts);
  }
  for (const absl::string_view folder : absl::StrSplit(Variable("LD_LIBRARY_PATH"), ':', absl::SkipEmpty())) {
    Note(std::string(folder), kLibrary, parts);
  }
  for (const char* folder :
       {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
    Note(folder, kLibrary, parts);
  }
}

void NoteSimCompiler(std::vector<std::string>* parts) {
  const std::string chosen = Variable("TCC_SIM_CXX");
  parts->push_back(absl::StrCat("TCC_SIM_CXX=", chosen));
  if (!chosen.empty()) Note(chosen, "", parts);
  for (const absl::string_view folder : absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty())) {
    for (const char* name : {"clang++-19", "clang++"}) Note(fs::path(std::string(folder)) / name, "", parts);
  }
  parts->push_back(std::string(HostArch()));
  parts->push_back(absl::StrJoin(HostCpuFeatures(), ","));
}

}  // namespace

std::string ToolchainIdentity(TargetSpec::Kind kind) {
  std::vector<std::string> parts;
  if (kind == TargetSpec::Kind::kCuda) NoteNvrtc(&parts);
  if (kind == TargetSpec::Kind::kCudaSim) NoteSimCompiler(&parts);
  return absl::StrJoin(parts, "\n");
}

absl::Status ResolveTarget(Options* options) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(options->target));
  if (target.kind != TargetSpec::Kind::kCuda || !target.archs.empty()) return absl::OkStatus();
  const auto device = devices::DefaultDevice("cuda");
  if (!device.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("target 'cuda' is for the GPU of this machine: ", device.status().message(),
                     "; to compile for one elsewhere, name its architecture, as in --target=cuda:sm_90a"));
  }
  const int capability = (*device)->properties().compute_capability;
  // From 9.0 on with the instructions of that very architecture.
  std::string resolved = absl::StrCat("cuda:sm_", capability, capability >= 90 ? "a" : "");
  if (!ParseTarget(resolved).ok()) {
    return absl::UnimplementedError(absl::StrCat("target 'cuda': no code is made for ", (*device)->name(), " (",
                                                 (*device)->properties().name, ", compute capability ", capability / 10,
                                                 ".", capability % 10, ")"));
  }
  options->target = std::move(resolved);
  return absl::OkStatus();
}

absl::Status CheckRunsHere(const std::string& target) {
  const absl::StatusOr<TargetSpec> spec = ParseTarget(target);
  if (!spec.ok() || spec->kind != TargetSpec::Kind::kCuda) return spec.status();
  const absl::Status status = devices::DefaultDevice("cuda").status();
  if (status.ok()) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      "target '", target, "' cannot be run here: ", status.message(),
      "; `tcc compile` makes a package for a machine with a GPU, and --target=cuda-sim runs the kernels on the CPU"));
}

}  // namespace tcc
