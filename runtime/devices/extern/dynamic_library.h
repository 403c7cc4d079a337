// A library of CUDA's that is found at run time, if at all: nothing of CUDA has to be there when tcc is built.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tcc::devices {

struct LibraryName {
  const char* title;               // "cuDNN"
  const char* variable;            // of the environment: names the file
  std::vector<std::string> files;  // that the loader may find, the first one first
  const char* source;              // for people: where it comes from
};

struct OpenLibrary {
  void* handle = nullptr;  // stays open: these libraries have state of the driver's
  std::string file;
  // Null where it has no such function.
  void* Find(const char* symbol) const;
};

// `path`, else what the variable says, else where the loader finds one of the files. NotFound says which file, and what
// to do.
absl::StatusOr<OpenLibrary> OpenNamed(const LibraryName& name, const std::string& path);
// The file that is meant by a path that may be empty.
std::string PathOf(const LibraryName& name, const std::string& path);

// Libraries by file, each opened once. Thread-safe.
template <typename Library>
class OpenedOnce {
 public:
  absl::StatusOr<const Library*> Get(const std::string& path,
                                     absl::StatusOr<Library> (*open)(const std::string& path)) {
    const std::lock_guard lock(mutex_);
    auto found = libraries_.find(path);
    if (found == libraries_.end()) found = libraries_.emplace(path, open(path)).first;
    if (!found->second.ok()) return found->second.status();
    return &*found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, absl::StatusOr<Library>> libraries_;  // guarded by mutex_
};

}  // namespace tcc::devices
