#include "runtime/devices/extern/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tcc::devices {

void* OpenLibrary::Find(const char* symbol) const { return dlsym(handle, symbol); }

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
