#include "runtime/devices/extern/library_call.h"

#include <array>
#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/devices/extern/descriptor_json.h"
#include "runtime/devices/extern/library_handles.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

template <typename Library>
absl::StatusOr<const Library*> Find(Kind kind, const char* title, const char* simulated) {
  if (kind == Kind::kCuda) return Library::Load();
  const char* const path = std::getenv(simulated);
  if (kind != Kind::kCudaSim || path == nullptr || *path == '\0') {
    return absl::NotFoundError(absl::StrCat("no ", title, ": there is none for the simulated device (", simulated,
                                            " names one that works on memory of the host)"));
  }
  return Library::Load(path);
}
absl::StatusOr<const cublaslt::Library*> FindCublasLt(Kind kind) {
  return Find<cublaslt::Library>(kind, "cuBLASLt", "TCC_CUBLASLT_SIM");
}
absl::StatusOr<const cudnn::Library*> FindCudnn(Kind kind) {
  return Find<cudnn::Library>(kind, "cuDNN", "TCC_CUDNN_SIM");
}

}  // namespace

absl::StatusOr<std::string> LibraryVersion(std::string_view arch, Kind kind) {
  if (arch == kCublasLt) {
    TCC_ASSIGN_OR_RETURN(const auto* const library, FindCublasLt(kind));
    return absl::StrCat("cuBLASLt ", library->VersionText());
  }
  if (arch == kCudnn) {
    TCC_ASSIGN_OR_RETURN(const auto* const library, FindCudnn(kind));
    return absl::StrCat("cuDNN ", library->VersionText());
  }
  return absl::NotFoundError(absl::StrCat("no library is called ", std::string(arch)));
}

int LibrarySuits(std::string_view arch, Kind kind) {
  constexpr int kBest = 1 << 20;
  if (arch != kCublasLt && arch != kCudnn) return 0;
  const absl::Status status = LibraryVersion(arch, kind).status();
  if (status.ok()) return kBest;
  static std::array<std::once_flag, 2> said;
  std::call_once(said[arch == kCudnn ? 1 : 0], [&] {
    Log("perf_hints", absl::StrCat("what was chosen to be a call of ", std::string(arch),
                                   " is generated kernels here: ", status.message()));
  });
  return 0;
}

std::shared_ptr<LibraryHandles> MakeLibraryHandles() { return std::make_shared<LibraryHandles>(); }

absl::StatusOr<cublaslt::Handle*> LibraryHandles::Get(const cublaslt::Library& library) {
  const std::lock_guard lock(mutex_);
  Owned<cublaslt::Handle>& handle = cublaslt_[&library];
  if (handle.get() == nullptr) {
    Owned<cublaslt::Handle> made;
    TCC_RETURN_IF_ERROR(library.Error(library.Create(made.Put(library.Destroy)), "start"));
    handle.Swap(made);
  }
  return handle.get();
}

absl::StatusOr<LibraryHandles::Cudnn*> LibraryHandles::Get(const cudnn::Library& library) {
  const std::lock_guard lock(mutex_);
  Cudnn& one = cudnn_[&library];
  if (one.handle.get() == nullptr) {
    Owned<cudnn::Handle> made;
    TCC_RETURN_IF_ERROR(library.Error(library.Create(made.Put(library.Destroy)), "start"));
    one.handle.Swap(made);
  }
  return &one;
}

LibraryCall::LibraryCall(std::string name, const std::vector<UsedParameter>& used) : name_(std::move(name)) {
  for (const UsedParameter& each : used) {
    if (*each.parameter >= 0) used_.push_back({static_cast<size_t>(*each.parameter), each.bytes});
  }
}

absl::Status LibraryCall::Run(absl::Span<void* const> params, absl::Span<const MemoryRange> buffers, void* stream) {
  for (const Used& used : used_) {
    if (used.parameter >= params.size()) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": a call of a library that uses parameter ",
                                                     used.parameter, " of a launch with ", params.size(),
                                                     ": the package is damaged: compile it again"));
    }
    if (buffers.empty()) continue;
    const int64_t there = used.parameter < buffers.size() ? buffers[used.parameter].bytes : 0;
    if (used.bytes > there) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": a call of a library that uses ", used.bytes,
                                                     " bytes of parameter ", used.parameter, ", which has ", there,
                                                     ": the package is damaged: compile it again"));
    }
  }
  return DoRun(params, stream);
}

std::string_view LibraryOf(std::string_view bytes) {
  const std::string what = WhatIsDone(bytes);
  if (what == "gemm") return kCublasLt;
  return what == "conv" ? kCudnn : std::string_view();
}

absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(std::string_view bytes, Kind kind,
                                                             const std::shared_ptr<LibraryHandles>& handles,
                                                             const std::string& name) {
  if (LibraryOf(bytes) == kCudnn) {
    TCC_ASSIGN_OR_RETURN(const ConvDescriptor descriptor, ConvDescriptorFrom(bytes));
    TCC_ASSIGN_OR_RETURN(const auto* const library, FindCudnn(kind));
    return MakeConvCall(*library, handles, descriptor, name);
  }
  TCC_ASSIGN_OR_RETURN(const GemmDescriptor descriptor, GemmDescriptorFrom(bytes));
  TCC_ASSIGN_OR_RETURN(const auto* const library, FindCublasLt(kind));
  return MakeGemmCall(*library, handles, descriptor, name);
}

}  // namespace tcc::devices
