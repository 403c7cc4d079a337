#include "runtime/file_util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/hash.h"
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
    case EFBIG:
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

namespace {

// Beyond the limit on the size of files the kernel sends the thread SIGXFSZ, which ends the process unless it is
// ignored: the signal is held back here, and taken. What the host process does about signals stays as it is.
class HoldSizeSignal {
 public:
  HoldSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~HoldSizeSignal() {
    const int error = errno;
    const timespec now = {};
    if (error == EFBIG && sigismember(&before_, SIGXFSZ) == 0) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t set_, before_;
};

ssize_t WriteSome(int descriptor, std::string_view bytes) {
  const HoldSizeSignal hold;
  return write(descriptor, bytes.data(), bytes.size());
}

// The name that an open file has, or had.
std::string NameOf(int descriptor) {
  std::string name(PATH_MAX, '\0');
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", descriptor).c_str(), name.data(), name.size());
  if (size <= 0) return "file";
  name.resize(static_cast<size_t>(size));
  return name;
}

}  // namespace

absl::Status FileDescriptor::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = WriteSome(descriptor_, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = errno;
      return ErrnoStatus(error, NameOf(descriptor_), "write");
    }
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

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::OpenOurs(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, Open(path));
  if (file->info().st_uid == geteuid()) return file;
  return absl::PermissionDeniedError(
      absl::StrCat("'", path, "' belongs to another user (", file->info().st_uid, "): not used"));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

namespace {

struct Temporaries {
  std::mutex mutex;
  std::set<std::string> paths;  // guarded by mutex
};
Temporaries& AllTemporaries() {
  static auto* const all = new Temporaries;  // never destroyed: threads may go on while the process ends
  return *all;
}

// Tells apart who gives out process numbers: the machine, and the container.
const std::string& ProcessSpace() {
  static const std::string* const space = [] {
    std::string text(256, '\0');
    if (gethostname(text.data(), text.size() - 1) != 0) text.clear();
    struct stat info = {};
    if (stat("/proc/self/ns/pid", &info) == 0) absl::StrAppend(&text, " ", info.st_dev, " ", info.st_ino);
    return new std::string(Hash128(text).substr(0, 8));
  }();
  return *space;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(AllTemporaries().mutex);
  AllTemporaries().paths.insert(path_);
}

void TemporaryFile::Remove() {
  if (!path_.empty()) unlink(path_.c_str());
  Keep();
}

void TemporaryFile::Keep() {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(AllTemporaries().mutex);
  AllTemporaries().paths.erase(path_);
  path_.clear();
}

void RemoveTemporaries() {
  AllTemporaries().mutex.lock();
  for (const std::string& path : AllTemporaries().paths) unlink(path.c_str());
}

bool WriterIsGone(std::string_view name) {
  constexpr std::string_view kPrefix = ".tmp-";
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::vector<std::string> parts = absl::StrSplit(std::string(name.substr(kPrefix.size())), '-');
  pid_t process = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &process) || process <= 0 || parts[1] != ProcessSpace()) {
    return false;
  }
  return kill(process, 0) != 0 && errno == ESRCH;
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
    std::string temporary = absl::StrCat(folder, ".tmp-", getpid(), "-", ProcessSpace(), "-", counter.fetch_add(1), "-",
                                         path.size() - folder.size());
    FileDescriptor file(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const int error = errno;
    if (file.valid()) return AtomicFile(path, TemporaryFile(std::move(temporary)), std::move(file));
    if (error != EEXIST) return ErrnoStatus(error, path, "write");
  }
}

absl::Status AtomicFile::Commit() {
  if (fsync(file_.get()) != 0) return ErrnoStatus(errno, path_, "write");
  if (rename(temporary_.path().c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, path_, "write");
  temporary_.Keep();
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
