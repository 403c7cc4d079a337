// One builder per key: locks that the kernel releases when their holder dies.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache.h"

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;

// Whoever holds a lock has written its number into the file.
std::string HolderOf(const FileDescriptor& file) {
  char text[16] = "";
  int process = 0;
  if (pread(file.get(), text, sizeof(text) - 1, 0) <= 0 || !absl::SimpleAtoi(text, &process)) return "another process";
  return absl::StrCat("process ", process);
}

void WriteHolder(const FileDescriptor& file) {
  if (ftruncate(file.get(), 0) == 0) file.Write(absl::StrCat(getpid(), "\n")).IgnoreError();
}

// Whether the open file is the one of that name: whoever held a lock may have removed its file, and then the lock is of
// no file that others see.
bool IsNamed(const FileDescriptor& file, const std::string& path) {
  struct stat mine, named;
  return fstat(file.get(), &mine) == 0 && stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
         mine.st_dev == named.st_dev;
}

}  // namespace

FileDescriptor ArtifactCache::LockKey(const std::string& key, double wait_seconds, const std::function<bool()>& done) {
  const std::string path = root_ + "/locks/" + key + ".lock";
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(1);
  bool told = false;
  FileDescriptor file;
  const auto open_file = [&] { file = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)); };
  while (true) {
    if (!file.valid()) {
      open_file();
      if (!file.valid() && errno == ENOENT && MakeFolders().ok()) open_file();
      if (!file.valid()) return file;
    }
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (IsNamed(file, path)) {
        WriteHolder(file);
        return file;
      }
      file.Close();
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      WarnOnce("flock", absl::StrCat("no file locks in '", options_.folder, "': ", std::strerror(errno)));
      return FileDescriptor();
    }
    if (done && done()) return FileDescriptor();
    // Asked again and again, since a wait for a lock cannot be bounded: its holder may be stopped, or hang.
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (wait_seconds > 0 && waited >= wait_seconds) {
      WarnOnce("waited", absl::StrCat(HolderOf(file), " has held '", path, "' for longer than ", wait_seconds,
                                      " s: going on without it"));
      return FileDescriptor();
    }
    if (!told && waited >= options_.patience_seconds) {
      told = true;
      Warn(absl::StrCat("waiting for ", HolderOf(file), ", which works on the same and holds '", path, "'"));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

}  // namespace tcc
