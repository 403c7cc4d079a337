#include "runtime/devices/extern/cudnn.h"

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc::devices::cudnn {
namespace {

constexpr size_t kMajor = 9;

std::string TextOf(size_t version) {
  return absl::StrCat(version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

absl::StatusOr<Library> Open(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const OpenLibrary opened, OpenNamed(Name(), path));
  const std::string& file = opened.file;
  Library library;
  TCC_ASSIGN_OR_RETURN(library.version, opened.Version(Name(), "cudnnGetVersion"));
  // (Before 9 numbers were made otherwise, and errors had others.)
  if (library.version / 10000 != kMajor) {
    return absl::FailedPreconditionError(absl::StrCat("not the cuDNN that tcc knows: ", file, " says version ",
                                                      library.version, ", tcc needs ", kMajor));
  }
  TCC_CUDNN_FUNCTIONS(TCC_LIBRARY_FIND)
  return library;
}

}  // namespace

const LibraryName& Name() {
  static const auto* const name =
      new LibraryName{"cuDNN", "TCC_CUDNN", {"libcudnn.so.9"}, "NVIDIA's cuDNN, or nvidia-cudnn of PyPI"};
  return *name;
}

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
