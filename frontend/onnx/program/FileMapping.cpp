//===- FileMapping.cpp - open files and read-only mappings ----------------===//
#include "frontend/onnx/program/FileMapping.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tcc::onnx {

static absl::Status errnoStatus(int error, const std::string &path, const char *doing) {
  std::string message = absl::StrCat(path, ": cannot ", doing, ": ", std::strerror(error));
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  case EACCES:
  case EPERM:
    return absl::PermissionDeniedError(message);
  default:
    return absl::InvalidArgumentError(message);
  }
}

absl::StatusOr<std::shared_ptr<const File>> File::open(const std::string &path) {
  std::shared_ptr<File> file(new File);
  if (path.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("a file name contains a zero byte");
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  file->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file->fd < 0)
    return errnoStatus(errno, path, "open it");
  if (::fstat(file->fd, &file->info) != 0)
    return errnoStatus(errno, path, "read its properties");
  if (S_ISDIR(file->info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a file"));
  if (!S_ISREG(file->info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  // The kernel knows which file was opened; resolving the name a second time could find another one.
  std::string buffer(4096, '\0');
  ssize_t length = ::readlink(absl::StrCat("/proc/self/fd/", file->fd).c_str(), buffer.data(), buffer.size());
  if (length > 0 && static_cast<size_t>(length) < buffer.size() && buffer[0] == '/') {
    file->resolved = buffer.substr(0, length);
  } else {
    char *resolved = ::realpath(path.c_str(), nullptr);
    if (!resolved)
      return errnoStatus(errno, path, "resolve it");
    file->resolved = resolved;
    ::free(resolved);
  }
  return file;
}

File::~File() {
  if (fd >= 0)
    ::close(fd);
}

absl::StatusOr<int64_t> File::read(char *to, int64_t size, int64_t offset) const {
  int64_t done = 0;
  while (done < size) {
    ssize_t n = ::pread(fd, to + done, size - done, offset + done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errnoStatus(errno, resolved, "read it");
    if (n == 0)
      break;
    done += n;
  }
  return done;
}

absl::StatusOr<std::shared_ptr<const FileMapping>> FileMapping::map(const File &file) {
  std::shared_ptr<FileMapping> mapping(new FileMapping);
  if (file.size() == 0)
    return mapping;
  void *data = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED)
    return errnoStatus(errno, file.resolvedPath(), "map it");
  mapping->data = static_cast<const char *>(data);
  mapping->size = file.size();
  return mapping;
}

FileMapping::~FileMapping() {
  if (data)
    ::munmap(const_cast<char *>(data), size);
}

void FileMapping::dropPages() const {
  if (data)
    ::madvise(const_cast<char *>(data), size, MADV_DONTNEED);
}

} // namespace tcc::onnx
