#include "runtime/devices/extern/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tcc::devices::cublaslt {
namespace {

constexpr size_t kOldest = 120000;

std::string TextOf(size_t version) { return absl::StrCat(version / 10000, ".", version % 10000 / 100); }

absl::StatusOr<Library> Open(const std::string& given) {
  std::vector<std::string> names = {given};
  if (given.empty()) names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  void* handle = nullptr;
  std::string file, why;
  for (const std::string& name : names) {
    // Never unloaded: it has state of the driver's.
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    file = name;
    if (handle != nullptr) break;
    const char* const text = dlerror();
    if (why.empty()) why = text == nullptr ? name : text;
  }
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("no cuBLASLt: ", why,
                                            " (it comes with the CUDA toolkit, or nvidia-cublas of PyPI; TCC_CUBLASLT "
                                            "names another file)"));
  }
  Library library;
  size_t (*const get_version)() = reinterpret_cast<size_t (*)()>(dlsym(handle, "cublasLtGetVersion"));
  if (get_version == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(file, " is no cuBLASLt: it does not tell its version"));
  }
  library.version = get_version();
  if (library.version < kOldest) {
    return absl::FailedPreconditionError(absl::StrCat("cuBLASLt is too old: ", file, " is ", TextOf(library.version),
                                                      ", tcc needs ", TextOf(kOldest), " or later"));
  }
#define TCC_CUBLASLT_FIND(name, symbol, result, parameters)                                                 \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, symbol));                           \
  if (library.name == nullptr) {                                                                            \
    return absl::FailedPreconditionError(                                                                   \
        absl::StrCat(file, " has no function ", symbol, " (it says it is ", TextOf(library.version), ")")); \
  }
  TCC_CUBLASLT_FUNCTIONS(TCC_CUBLASLT_FIND)
#undef TCC_CUBLASLT_FIND
  return library;
}

}  // namespace

std::string Library::VersionText() const { return TextOf(version); }

absl::Status Library::Error(Result result, absl::string_view what) const {
  if (result == kSuccess) return absl::OkStatus();
  const char* text = GetStatusString(result);
  const std::string message = absl::StrCat("cuBLASLt ", VersionText(), ": cannot ", what, ": ",
                                           text == nullptr ? "an error it does not know" : text, " (", result, ")");
  switch (result) {
    case kAllocFailed:
      return absl::ResourceExhaustedError(message);
    case kArchMismatch:
    case kNotSupported:
      return absl::FailedPreconditionError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<const Library*> Library::Load(const std::string& given) {
  std::string path = given;
  if (path.empty()) {
    const char* const value = std::getenv("TCC_CUBLASLT");
    path = value != nullptr ? value : "";
  }
  static std::mutex mutex;
  static auto* const libraries = new std::map<std::string, absl::StatusOr<Library>>;
  const std::lock_guard lock(mutex);
  auto found = libraries->find(path);
  if (found == libraries->end()) found = libraries->emplace(path, Open(path)).first;
  if (!found->second.ok()) return found->second.status();
  return &*found->second;
}

}  // namespace tcc::devices::cublaslt
