#include "compiler/this_machine.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/cpu_features.h"
#include "runtime/cuda_files.h"
#include "runtime/devices/extern/cublaslt.h"
#include "runtime/devices/extern/cudnn.h"
#include "runtime/devices/registry.h"
#include "runtime/status.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Size and time of a file, links followed. Nothing for what is not there.
void Note(const fs::path& file, std::vector<std::string>* parts) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) != 0) return;
  parts->push_back(absl::StrCat(file.string(), " ", info.st_size, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec));
}

// What the search of the compiler finds, so that no place it looks in is forgotten here.
void NoteNvrtc(std::vector<std::string>* parts) {
  // Not by asking the loader, which would load it; what that finds changes with its cache.
  const absl::StatusOr<std::string> library = FindNvrtc({}, /*ask_loader=*/false);
  Note(library.ok() ? *library : "/etc/ld.so.cache", parts);
  const absl::StatusOr<std::string> headers = FindCudaInclude({}, library.value_or(""));
  if (headers.ok()) Note(fs::path(*headers) / "cuda_fp16.h", parts);
}

// The libraries that code for this machine's GPU may call, where they usually are. (Not by loading them either.)
void NoteLibraries(std::vector<std::string>* parts) {
  for (const devices::LibraryName* name : {&devices::cublaslt::Name(), &devices::cudnn::Name()}) {
    const std::string chosen = Variable(name->variable);
    parts->push_back(absl::StrCat(name->variable, "=", chosen));
    if (!chosen.empty()) {
      Note(chosen, parts);
      continue;
    }
    const std::string folders = absl::StrCat(Variable("LD_LIBRARY_PATH"), ":/usr/local/cuda/lib64:/usr/lib/",
                                             std::string(HostArch()), "-linux-gnu:/usr/lib64");
    for (const absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
      for (const std::string& file : name->files) Note(fs::path(std::string(folder)) / file, parts);
    }
  }
}

void NoteSimCompiler(std::vector<std::string>* parts) {
  const std::string chosen = Variable("TCC_SIM_CXX");
  parts->push_back(absl::StrCat("TCC_SIM_CXX=", chosen));
  parts->push_back(absl::StrCat("TCC_SIM_CHECKED=", Variable("TCC_SIM_CHECKED")));
  if (!chosen.empty()) Note(chosen, parts);
  for (const absl::string_view folder : absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty())) {
    for (const char* name : {"clang++-19", "clang++"}) Note(fs::path(std::string(folder)) / name, parts);
  }
  parts->push_back(std::string(HostArch()));
  parts->push_back(absl::StrJoin(HostCpuFeatures(), ","));
}

// Where a CUDA target runs.
absl::StatusOr<std::shared_ptr<devices::ComputeDevice>> DeviceOf(const Options& options) {
  return options.device.empty() ? devices::DefaultDevice("cuda") : devices::DeviceFor(options.device);
}

}  // namespace

std::string ToolchainIdentity(TargetSpec::Kind kind) {
  std::vector<std::string> parts;
  if (kind == TargetSpec::Kind::kCuda) {
    NoteNvrtc(&parts);
    NoteLibraries(&parts);
  }
  if (kind == TargetSpec::Kind::kCudaSim) NoteSimCompiler(&parts);
  return absl::StrJoin(parts, "\n");
}

absl::Status ResolveTarget(Options* options) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(options->target));
  if (target.kind != TargetSpec::Kind::kCuda || !target.archs.empty()) return absl::OkStatus();
  const auto device = DeviceOf(*options);
  if (!device.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("target 'cuda' is for the GPU of this machine: ", device.status().message(),
                     "; to compile for one elsewhere, name its architecture, as in --target=cuda:sm_90a"));
  }
  const int capability = (*device)->properties().compute_capability;
  const auto possible = [&](const std::string& arch) { return ParseTarget(absl::StrCat("cuda:", arch)).ok(); };
  // From 9.0 on with the instructions of that very architecture.
  std::string arch = absl::StrCat("sm_", capability, capability >= 90 ? "a" : "");
  // Of a newer one than there was when this was written, the driver compiles PTX.
  for (int older = capability; !possible(arch) && older >= 80; --older) arch = absl::StrCat("compute_", older);
  if (!possible(arch)) {
    return absl::UnimplementedError(absl::StrCat("target 'cuda': no code is made for ", (*device)->name(), " (",
                                                 (*device)->properties().name, ", compute capability ", capability / 10,
                                                 ".", capability % 10, ")"));
  }
  options->target = absl::StrCat("cuda:", arch);
  return absl::OkStatus();
}

absl::Status CheckRunsHere(const Options& options) {
  const absl::StatusOr<TargetSpec> spec = ParseTarget(options.target);
  if (!spec.ok() || spec->kind != TargetSpec::Kind::kCuda) return spec.status();
  const absl::Status status = DeviceOf(options).status();
  if (status.ok()) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      "target '", options.target, "' cannot be run here: ", status.message(),
      "; `tcc compile` makes a package for a machine with a GPU, and --target=cuda-sim runs the kernels on the CPU"));
}

absl::Status CheckDevice(const Options& options) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(options.target));
  if (options.device.empty()) return absl::OkStatus();
  if (target.kind != TargetSpec::Kind::kCpu) return devices::CheckDeviceName(options.device);
  if (options.device == "cpu") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("device '", options.device, "' was chosen, but target '",
                                                 options.target, "' is for the CPU: choose --target=cuda or cuda-sim"));
}

}  // namespace tcc
