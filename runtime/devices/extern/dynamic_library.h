// A library of CUDA's that is found at run time, if at all: nothing of CUDA has to be there when tcc is built.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
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
  // FailedPrecondition where it has none.
  absl::StatusOr<size_t> Version(const LibraryName& name, const char* symbol) const;
  template <typename Function>
  absl::Status FindInto(const char* symbol, const std::string& version, Function* function) const {
    *function = reinterpret_cast<Function>(Find(symbol));
    return *function != nullptr ? absl::OkStatus() : Lacks(symbol, version);
  }

 private:
  absl::Status Lacks(const char* symbol, const std::string& version) const;
};

// For tables of functions, F(name, symbol, result, parameters): members of a struct, and what finds them for an
// OpenLibrary `opened` and such a struct `library`, which knows its VersionText().
#define TCC_LIBRARY_MEMBER(name, symbol, result, parameters) result(*name) parameters = nullptr;
#define TCC_LIBRARY_FIND(name, symbol, result, parameters) \
  TCC_RETURN_IF_ERROR(opened.FindInto(#symbol, library.VersionText(), &library.name));

// `path`, else what the variable says, else where the loader finds one of the files. NotFound says which file, and what
// to do.
absl::StatusOr<OpenLibrary> OpenNamed(const LibraryName& name, const std::string& path);
// The file that is meant by a path that may be empty.
std::string PathOf(const LibraryName& name, const std::string& path);

// Libraries by file, each opened once; one that cannot be used is looked for again. Thread-safe.
template <typename Library>
class OpenedOnce {
 public:
  absl::StatusOr<const Library*> Get(const std::string& path,
                                     absl::StatusOr<Library> (*open)(const std::string& path)) {
    const std::lock_guard lock(mutex_);
    auto found = libraries_.find(path);
    if (found == libraries_.end()) {
      absl::StatusOr<Library> opened = open(path);
      if (!opened.ok()) return opened.status();
      found = libraries_.emplace(path, *std::move(opened)).first;
    }
    return &found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Library> libraries_;  // guarded by mutex_
};

}  // namespace tcc::devices
