// Files as the runtime needs them: mapped, and replaced atomically. Internal to runtime/, frontends may use it too.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tcc {

// Closes at the end of the scope.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }

  bool valid() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  void Close();
  // All of the bytes, or an error.
  absl::Status Write(std::string_view bytes) const;

 private:
  int descriptor_ = -1;
};

// Bytes of a file, mapped read-only, private. The mapping outlives the name: files that are replaced by rename stay as
// they were. (A file truncated in place raises SIGBUS on access: the cache never does that to its own.)
class MappedFile {
 public:
  // NotFound, PermissionDenied, or FailedPrecondition for what is not a regular file.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  const struct stat& info() const { return info_; }

 private:
  MappedFile() = default;
  void* data_ = nullptr;
  size_t size_ = 0;
  struct stat info_ = {};
};

// A temporary file beside `path` that becomes `path` on Commit: written to disk (fsync), then renamed over it, so that
// readers see the old file or the new one. Removed at the end of the scope unless committed. Temporaries are named
// ".tmp-...", readers of folders skip them. Where `path` is a link, the file that it names is replaced;
// FailedPrecondition for folders, devices and pipes.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), file_(std::move(other.file_)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;

  const FileDescriptor& file() const { return file_; }
  const std::string& temporary_path() const { return temporary_; }
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, FileDescriptor file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}
  std::string path_, temporary_;
  FileDescriptor file_;
};

// Whether `path` names something, or a folder: false where that cannot be told (no access, too long a name), where
// std::filesystem's functions of these names throw.
bool Exists(const std::string& path);
bool IsFolder(const std::string& path);
// $TMPDIR, else /tmp. It need not exist.
std::string TemporaryFolder();

// Sets the file's times to now: for caches, when it was used last. Nothing happens where that is not allowed.
void MarkUsed(const std::string& path);

absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes);

// A status for errno after a failed call on `path`.
absl::Status ErrnoStatus(int error, const std::string& path, std::string_view doing);

}  // namespace tcc
