//===- PrivateFolder.cpp ---------------------------------------------------===//
#include "codegen/cuda/compile/PrivateFolder.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tcc::codegen {
namespace {

namespace fs = llvm::sys::fs;

constexpr const char *kLock = "/.lock";

/// The lock of a folder, if nobody has it.
FileDescriptor lockOf(const std::string &folder, int flags) {
  FileDescriptor file(open((folder + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  return file.valid() && flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(file) : FileDescriptor();
}

void removeLeftOvers(const std::string &parent, const std::string &prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error, /*follow_symlinks=*/false), end; !error && it != end;
       it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with(prefix))
      found.push_back(it->path());
  for (const std::string &folder : found) {
    struct stat info;
    if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid())
      continue;
    if (FileDescriptor lock = lockOf(folder, 0); lock.valid())
      fs::remove_directories(folder);
  }
}

} // namespace

llvm::Expected<std::unique_ptr<PrivateFolder>> PrivateFolder::create(llvm::StringRef name) {
  const std::string parent = TemporaryFolder(), prefix = name.str() + "-";
  removeLeftOvers(parent, prefix);
  // It gets its name when it is locked, so that nobody takes it for one that was left.
  std::string path = parent + "/.new-" + prefix + "XXXXXX";
  auto fail = [&](int error) {
    const absl::Status status = ErrnoStatus(error, path, "make");
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", std::string(status.message()).c_str());
  };
  if (mkdtemp(path.data()) == nullptr)
    return fail(errno);
  std::unique_ptr<PrivateFolder> result(new PrivateFolder);
  result->folder = path;
  result->lock = lockOf(path, O_CREAT);
  const std::string final = parent + "/" + path.substr(parent.size() + std::string("/.new-").size());
  if (rename(path.c_str(), final.c_str()) != 0)
    return fail(errno);
  result->folder = final;
  return result;
}

PrivateFolder::~PrivateFolder() { fs::remove_directories(folder); }

} // namespace tcc::codegen
