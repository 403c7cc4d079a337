#include "runtime/file_util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "runtime/status.h"

namespace tcc {

absl::Status ErrnoStatus(int error, const std::string& path, std::string_view doing) {
  const std::string message =
      absl::StrCat("cannot ", absl::string_view(doing.data(), doing.size()), " '", path, "': ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnknownError(message);
  }
}

void FileDescriptor::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

absl::Status FileDescriptor::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ErrnoStatus(errno, "file", "write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // Not blocking: opening a FIFO would wait for a writer.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return ErrnoStatus(errno, path, "open");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (fstat(file.get(), &mapped->info_) != 0) return ErrnoStatus(errno, path, "read");
  if (!S_ISREG(mapped->info_.st_mode)) return absl::FailedPreconditionError(absl::StrCat("'", path, "' is not a file"));
  mapped->size_ = static_cast<size_t>(mapped->info_.st_size);
  if (mapped->size_ > 0) {
    void* data = mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) return ErrnoStatus(errno, path, "map");
    mapped->data_ = data;
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write '", path, "': it is a folder"));
  }
  // Renaming over /dev/null would replace the device for everybody.
  if (exists && !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write '", path, "': it is a device, pipe or socket; name a file"));
  }
  // Of a link the file that it names is replaced, as by any other program.
  if (struct stat link; exists && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
    const std::unique_ptr<char, decltype(&free)> target(realpath(path.c_str(), nullptr), &free);
    if (target == nullptr) return ErrnoStatus(errno, path, "write");
    if (path != target.get()) return Create(target.get());
  }
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  // As any new file has them; mkstemp's 0600 would stay after the rename.
  while (true) {
    std::string temporary =
        absl::StrCat(folder, ".tmp-", getpid(), "-", counter.fetch_add(1), "-", path.size() - folder.size());
    FileDescriptor file(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.valid()) return AtomicFile(path, std::move(temporary), std::move(file));
    if (errno != EEXIST) return ErrnoStatus(errno, path, "write");
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Commit() {
  if (fsync(file_.get()) != 0) return ErrnoStatus(errno, path_, "write");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, path_, "write");
  temporary_.clear();
  return absl::OkStatus();
}

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void MarkUsed(const std::string& path) { utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

std::string TemporaryFolder() {
  const char* folder = getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  TCC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  TCC_RETURN_IF_ERROR(file.file().Write(bytes));
  return file.Commit();
}

}  // namespace tcc
