#include "runtime/devices/extern/cudnn.h"

#include "absl/strings/str_cat.h"
#include "runtime/devices/extern/dynamic_library.h"
#include "runtime/status.h"

namespace tcc::devices::cudnn {
namespace {

constexpr size_t kMajor = 9;

const LibraryName& Name() {
  static const auto* const name =
      new LibraryName{"cuDNN", "TCC_CUDNN", {"libcudnn.so.9"}, "NVIDIA's cuDNN, or nvidia-cudnn of PyPI"};
  return *name;
}

std::string TextOf(size_t version) {
  return absl::StrCat(version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

absl::StatusOr<Library> Open(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const OpenLibrary opened, OpenNamed(Name(), path));
  const std::string& file = opened.file;
  Library library;
  size_t (*const get_version)() = reinterpret_cast<size_t (*)()>(opened.Find("cudnnGetVersion"));
  if (get_version == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(file, " is no cuDNN: it does not tell its version"));
  }
  library.version = get_version();
  // (Before 9 numbers were made otherwise, and errors had others.)
  if (library.version / 10000 != kMajor) {
    return absl::FailedPreconditionError(absl::StrCat("not the cuDNN that tcc knows: ", file, " says version ",
                                                      library.version, ", tcc needs ", kMajor));
  }
#define TCC_CUDNN_FIND(name, symbol, result, parameters)                                                     \
  library.name = reinterpret_cast<decltype(library.name)>(opened.Find(#symbol));                             \
  if (library.name == nullptr) {                                                                             \
    return absl::FailedPreconditionError(                                                                    \
        absl::StrCat(file, " has no function ", #symbol, " (it says it is ", TextOf(library.version), ")")); \
  }
  TCC_CUDNN_FUNCTIONS(TCC_CUDNN_FIND)
#undef TCC_CUDNN_FIND
  return library;
}

}  // namespace

std::string Library::VersionText() const { return TextOf(version); }

absl::Status Library::Error(Result result, absl::string_view what) const {
  if (result == kSuccess) return absl::OkStatus();
  const char* text = GetErrorString(result);
  const std::string message = absl::StrCat("cuDNN ", VersionText(), ": cannot ", what, ": ",
                                           text == nullptr ? "an error it does not know" : text, " (", result, ")");
  if (result == kHostAllocation || result == kDeviceAllocation) return absl::ResourceExhaustedError(message);
  constexpr Result kKind = 1000;
  if (result / kKind == kNotSupported / kKind) return absl::FailedPreconditionError(message);
  return absl::InternalError(message);
}

absl::StatusOr<const Library*> Library::Load(const std::string& path) {
  static auto* const libraries = new OpenedOnce<Library>;
  return libraries->Get(PathOf(Name(), path), Open);
}

}  // namespace tcc::devices::cudnn
