// The files that a session compiles: what they hold, and that it has not changed since the session was opened.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cache.h"

namespace tcc {

// Not thread-safe.
class ModelFiles {
 public:
  // Notes which file the model is now. `constants`: further files, by name.
  ModelFiles(const std::string& path, const std::map<std::string, std::string>& constants,
             std::vector<std::string> external_data_roots);

  // What is in a cache key of the files: their hashes, and the names of constants. They are read the first time (the
  // model not even then, where `remembered` and the cache knows it), later only where they may have changed.
  // FailedPrecondition where one holds something else than before.
  absl::StatusOr<std::vector<std::string>> Hashes(ArtifactCache& cache, bool remembered);

 private:
  struct File {
    std::string name;  // empty: the model
    std::string path;
    std::optional<ArtifactCache::Content> content = std::nullopt;
  };
  absl::StatusOr<ArtifactCache::Content> Read(const File& file, ArtifactCache& cache, bool remembered) const;
  bool IsTheOneOpened(const std::string& path) const;

  std::vector<File> files_;  // the model first
  std::vector<std::string> external_data_roots_;
  std::optional<struct stat> opened_;
};

}  // namespace tcc
