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
  // All of the bytes, or an error, which names the file. A file that would grow beyond the limit of the process (ulimit
  // -f) is ResourceExhausted like a full disk, and no signal.
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
  // The same for files whose content is trusted, or executed: PermissionDenied for one of another user.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> OpenOurs(const std::string& path);
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

// A file that goes at the end of the scope, and with RemoveTemporaries. An empty path: none.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path);
  ~TemporaryFile() { Remove(); }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  void Remove();
  // It stays, or has got another name.
  void Keep();

 private:
  std::string path_;
};

// Removes the temporaries of this process, for one that is about to end by a signal: whoever wants to make one after
// that waits for good. Not for signal handlers.
void RemoveTemporaries();
// Whether the process that made the temporary of this name is certainly gone: it ran here, where no such process is
// now.
bool WriterIsGone(std::string_view name);

// A temporary file beside `path` that becomes `path` on Commit: written to disk (fsync), then renamed over it, so that
// readers see the old file or the new one. Removed at the end of the scope unless committed. Temporaries are named
// ".tmp-...", readers of folders skip them. Where `path` is a link, the file that it names is replaced;
// FailedPrecondition for folders, devices and pipes.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), file_(std::move(other.file_)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;

  const FileDescriptor& file() const { return file_; }
  const std::string& temporary_path() const { return temporary_.path(); }
  absl::Status Commit();

 private:
  AtomicFile(std::string path, TemporaryFile temporary, FileDescriptor file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}
  std::string path_;
  TemporaryFile temporary_;
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
