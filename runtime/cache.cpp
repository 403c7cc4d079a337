#include "runtime/cache.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "runtime/hash.h"
#include "runtime/status.h"

namespace tcc {
namespace {

constexpr int64_t kDefaultMaxBytes = int64_t{20} << 30;

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// mkdir -p, new folders for the user only.
absl::Status MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat info;
      // On the way down a folder may exist where we are not allowed to make one.
      if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return ErrnoStatus(error, folder, "create");
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

std::string ArtifactCache::DefaultFolder() {
  if (const std::string folder = FromEnvironment("TCC_CACHE_DIR"); !folder.empty()) return folder;
  // The specification says to ignore relative paths here.
  if (const std::string folder = FromEnvironment("XDG_CACHE_HOME"); !folder.empty() && folder[0] == '/') {
    return folder + "/tcc";
  }
  if (const std::string home = FromEnvironment("HOME"); !home.empty()) return home + "/.cache/tcc";
  return "";
}

std::shared_ptr<ArtifactCache> ArtifactCache::Open(const Options& options) {
  std::shared_ptr<ArtifactCache> cache(new ArtifactCache(options));
  cache->Prepare();
  return cache;
}

ArtifactCache& ArtifactCache::Global() {
  static auto* cache = new std::shared_ptr<ArtifactCache>(Open());
  return **cache;
}

void ArtifactCache::Prepare() {
  if (options_.folder.empty()) options_.folder = DefaultFolder();
  if (options_.max_bytes <= 0) {
    int64_t bytes = 0;
    const std::string text = FromEnvironment("TCC_CACHE_MAX_BYTES");
    if (!text.empty() && (!absl::SimpleAtoi(text, &bytes) || bytes <= 0)) {
      Warn(absl::StrCat("TCC_CACHE_MAX_BYTES='", text, "' is not a positive number: ignored"));
      bytes = 0;
    }
    options_.max_bytes = bytes > 0 ? bytes : kDefaultMaxBytes;
  }
  if (const absl::Status status = PrepareFolder(); !status.ok()) {
    readable_ = false;
    writable_ = false;
    Warn(absl::StrCat("the cache is off: ", status.message()));
  }
}

absl::Status ArtifactCache::PrepareFolder() {
  if (options_.folder.empty()) {
    return absl::FailedPreconditionError("neither TCC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
  }
  const std::string& folder = options_.folder;
  const absl::Status made = MakeFolders(folder);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return made.ok() ? ErrnoStatus(errno, folder, "use") : made;
  if (!S_ISDIR(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat("'", folder, "' is not a folder"));
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("'", folder, "' belongs to another user (", info.st_uid,
                     "): what it holds is executed, so it must be ours. Set TCC_CACHE_DIR"));
  }
  // Packages are code: nobody else may put one here.
  if ((info.st_mode & 077) != 0 && chmod(folder.c_str(), 0700) != 0 && (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("others may write to '", folder, "'"));
  }
  root_ = folder + "/v1";
  readable_ = true;
  writable_ = true;
  for (const char* name : {"/packages", "/constants", "/locks", "/files", "/notes", "/tuning"}) {
    if (!MakeFolders(root_ + name).ok() || access((root_ + name).c_str(), W_OK) != 0) writable_ = false;
  }
  if (!writable_) {
    Warn(absl::StrCat("'", folder, "' is read-only: compiled code is not kept"));
  } else if (const std::string tag = folder + "/CACHEDIR.TAG"; access(tag.c_str(), F_OK) != 0) {
    // Backup programs skip folders with this file (https://bford.info/cachedir).
    WriteFileAtomically(tag, "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled models of tcc.\n").IgnoreError();
  }
  return absl::OkStatus();
}

void ArtifactCache::Warn(const std::string& message) {
  if (options_.warn) return options_.warn(message);
  std::fprintf(stderr, "tcc: warning: cache: %s\n", message.c_str());
}

void ArtifactCache::WarnOnce(const std::string& topic, const std::string& message) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!warned_.insert(topic).second) return;
  }
  Warn(message);
}

std::string ArtifactCache::Key(const std::vector<std::string>& parts) {
  Hasher hasher;
  for (const std::string& part : parts) hasher.UpdatePart(part);
  return hasher.Hex();
}

std::shared_ptr<const Package> ArtifactCache::Lookup(const std::string& key) {
  if (!readable_) return nullptr;
  const std::string path = PackagePath(key);
  absl::StatusOr<std::shared_ptr<const Package>> package = Package::Open(path, {constant_store()});
  if (package.ok()) {
    MarkUsed(path);
    for (int i = 0; i < (*package)->size(); ++i) {
      if (const std::string file = (*package)->constants_file(i); !file.empty()) MarkUsed(file);
    }
    return *package;
  }
  // (One that is gone by now was evicted while we looked.)
  if (package.status().code() != absl::StatusCode::kNotFound && access(path.c_str(), F_OK) == 0) {
    WarnOnce(path, absl::StrCat(package.status().message(), ": compiled again"));
    if (writable_) unlink(path.c_str());
  }
  return nullptr;
}

FileDescriptor ArtifactCache::LockKey(const std::string& key) {
  const std::string path = root_ + "/locks/" + key + ".lock";
  while (true) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return file;
    int result;
    do {
      result = flock(file.get(), LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      WarnOnce("flock", absl::StrCat("no file locks in '", options_.folder, "': ", std::strerror(errno)));
      return FileDescriptor();
    }
    // Whoever held it may have removed the file: then this lock is of no file that others see.
    struct stat mine, named;
    if (fstat(file.get(), &mine) == 0 && stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
        mine.st_dev == named.st_dev) {
      return file;
    }
  }
}

absl::StatusOr<std::shared_ptr<const Package>> ArtifactCache::BuildPrivately(const Build& build) {
  std::string path = TemporaryFolder() + "/tcc-package-XXXXXX";
  const FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, path, "write");
  const absl::Status built = build(path, "");
  absl::StatusOr<std::shared_ptr<const Package>> package = built.ok() ? Package::Open(path) : built;
  unlink(path.c_str());  // it stays mapped
  return package;
}

absl::StatusOr<std::shared_ptr<const Package>> ArtifactCache::GetOrBuild(const std::string& key, const Build& build,
                                                                         bool* hit) {
  bool ignored;
  if (hit == nullptr) hit = &ignored;
  *hit = true;
  if (std::shared_ptr<const Package> package = Lookup(key)) return package;
  if (!writable_) {
    *hit = false;
    return BuildPrivately(build);
  }
  const FileDescriptor lock = LockKey(key);
  if (std::shared_ptr<const Package> package = Lookup(key)) return package;
  *hit = false;
  const std::string path = PackagePath(key);
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) {
    WarnOnce("write", absl::StrCat(file.status().message(), ": compiled code is not kept"));
    return BuildPrivately(build);
  }
  if (absl::Status status = build(file->temporary_path(), constant_store()); !status.ok()) {
    if (status.code() != absl::StatusCode::kResourceExhausted) return status;
    // The disk may be full; another one holds the package for this process.
    absl::StatusOr<std::shared_ptr<const Package>> package = BuildPrivately(build);
    if (package.ok()) WarnOnce("write", absl::StrCat(status.message(), ": compiled code is not kept"));
    return package;
  }
  // Opened before others can see it: what cannot be opened is not an entry.
  absl::StatusOr<std::shared_ptr<const Package>> package = Package::Open(file->temporary_path(), {constant_store()});
  if (package.status().code() == absl::StatusCode::kFailedPrecondition) {
    // Another process has evicted constants that this package shares with one that was removed.
    package = BuildPrivately(build);
    if (package.ok()) return package;
  }
  if (!package.ok()) return WithContext("the package just built", package.status());
  if (const absl::Status status = file->Commit(); !status.ok()) {
    WarnOnce("write", absl::StrCat(status.message(), ": compiled code is not kept"));
    return package;
  }
  if (const auto evicted = Evict(options_.max_bytes, key); !evicted.ok()) {
    WarnOnce("evict", std::string(evicted.status().message()));
  }
  return package;
}

}  // namespace tcc
