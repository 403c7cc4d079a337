//===- FileMapping.h - open files and read-only mappings --------*- C++ -*-===//
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tcc::onnx {

/// A regular file open for reading.
class File {
public:
  /// NotFound, PermissionDenied or InvalidArgument (not a regular file), with the path in the message. Never blocks, on
  /// pipes neither.
  static absl::StatusOr<std::shared_ptr<const File>> open(const std::string &path);
  ~File();

  int descriptor() const { return fd; }
  int64_t size() const { return info.st_size; }
  const struct stat &status() const { return info; }
  /// Where the open file really lies, with no symlink left in the path.
  const std::string &resolvedPath() const { return resolved; }

  /// Reads up to `size` bytes at `offset`; fewer at the end of the file.
  absl::StatusOr<int64_t> read(char *to, int64_t size, int64_t offset) const;

private:
  File() = default;
  int fd = -1;
  struct stat info = {};
  std::string resolved;
};

/// All bytes of a file, mapped read-only.
class FileMapping {
public:
  static absl::StatusOr<std::shared_ptr<const FileMapping>> map(const File &file);
  ~FileMapping();
  std::string_view bytes() const { return {data, static_cast<size_t>(size)}; }
  /// Takes what was read out of this process's memory; reading it again maps it again.
  void dropPages() const;

private:
  FileMapping() = default;
  const char *data = nullptr;
  int64_t size = 0;
};

} // namespace tcc::onnx
