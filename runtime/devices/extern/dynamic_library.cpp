#include "runtime/devices/extern/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tcc::devices {

void* OpenLibrary::Find(const char* symbol) const { return dlsym(handle, symbol); }

absl::StatusOr<size_t> OpenLibrary::Version(const LibraryName& name, const char* symbol) const {
  size_t (*const version)() = reinterpret_cast<size_t (*)()>(Find(symbol));
  if (version == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(file, " is no ", name.title, ": it does not tell its version"));
  }
  return version();
}

absl::Status OpenLibrary::Lacks(const char* symbol, const std::string& version) const {
  return absl::FailedPreconditionError(
      absl::StrCat(file, " has no function ", symbol, " (it says it is ", version, ")"));
}

std::string PathOf(const LibraryName& name, const std::string& path) {
  if (!path.empty()) return path;
  const char* const value = std::getenv(name.variable);
  return value != nullptr ? value : "";
}

absl::StatusOr<OpenLibrary> OpenNamed(const LibraryName& name, const std::string& path) {
  const std::vector<std::string> files = path.empty() ? name.files : std::vector<std::string>{path};
  std::string why;
  for (const std::string& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return OpenLibrary{handle, file};
    const char* const text = dlerror();
    if (why.empty()) why = text == nullptr ? file : text;
  }
  return absl::NotFoundError(absl::StrCat("no ", name.title, ": ", why, " (it comes with ", name.source, "; ",
                                          name.variable, " names another file)"));
}

}  // namespace tcc::devices
