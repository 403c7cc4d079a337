#include "runtime/devices/extern/cublaslt.h"

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc::devices::cublaslt {
namespace {

constexpr size_t kOldest = 120000;

std::string TextOf(size_t version) { return absl::StrCat(version / 10000, ".", version % 10000 / 100); }

absl::StatusOr<Library> Open(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const OpenLibrary opened, OpenNamed(Name(), path));
  const std::string& file = opened.file;
  Library library;
  TCC_ASSIGN_OR_RETURN(library.version, opened.Version(Name(), "cublasLtGetVersion"));
  if (library.version < kOldest) {
    return absl::FailedPreconditionError(absl::StrCat("cuBLASLt is too old: ", file, " is ", TextOf(library.version),
                                                      ", tcc needs ", TextOf(kOldest), " or later"));
  }
  TCC_CUBLASLT_FUNCTIONS(TCC_LIBRARY_FIND)
  return library;
}

}  // namespace

const LibraryName& Name() {
  static const auto* const name = new LibraryName{"cuBLASLt",
                                                  "TCC_CUBLASLT",
                                                  {"libcublasLt.so.13", "libcublasLt.so.12"},
                                                  "the CUDA toolkit, or nvidia-cublas of PyPI"};
  return *name;
}

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

absl::StatusOr<const Library*> Library::Load(const std::string& path) {
  static auto* const libraries = new OpenedOnce<Library>;
  return libraries->Get(PathOf(Name(), path), Open);
}

}  // namespace tcc::devices::cublaslt
