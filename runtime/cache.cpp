#include "runtime/cache.h"

#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "runtime/byte_count.h"
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
absl::Status MakeFolder(const std::string& path) {
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

// Packages are code: the folder is the user's, and nobody else may put one there.
absl::Status CheckFolder(const std::string& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return ErrnoStatus(errno, folder, "use");
  if (!S_ISDIR(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat("'", folder, "' is not a folder"));
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("'", folder, "' belongs to another user (", info.st_uid,
                     "): what it holds is executed, so it must be ours. Remove it, or set TCC_CACHE_DIR"));
  }
  if ((info.st_mode & 077) != 0 && chmod(folder.c_str(), 0700) != 0 && (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("others may write to '", folder, "'"));
  }
  return absl::OkStatus();
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
    if (!text.empty()) {
      const absl::StatusOr<int64_t> parsed = ParseByteCount(text);
      if (!parsed.ok()) Warn(absl::StrCat("TCC_CACHE_MAX_BYTES is ignored: ", parsed.status().message()));
      if (parsed.ok() && *parsed == 0) Warn("TCC_CACHE_MAX_BYTES is ignored: it is 0");
      bytes = parsed.value_or(0);
    }
    options_.max_bytes = bytes > 0 ? bytes : kDefaultMaxBytes;
  }
  if (const absl::Status status = PrepareFolder(); !status.ok()) {
    readable_ = false;
    writable_ = false;
    Warn(absl::StrCat("the cache is off: ", status.message()));
  }
}

absl::Status ArtifactCache::MakeFolders() {
  if (const absl::Status made = MakeFolder(options_.folder); !made.ok() && !Exists(options_.folder)) return made;
  TCC_RETURN_IF_ERROR(CheckFolder(options_.folder));
  bool writable = true;
  for (const char* name : {"", "/packages", "/constants", "/locks", "/files", "/notes", "/tuning", "/kernels"}) {
    const std::string path = root_ + name;
    if (!MakeFolder(path).ok() || access(path.c_str(), W_OK) != 0) writable = false;
    if (Exists(path)) TCC_RETURN_IF_ERROR(CheckFolder(path));
  }
  writable_ = writable;
  return absl::OkStatus();
}

absl::Status ArtifactCache::PrepareFolder() {
  if (options_.folder.empty()) {
    return absl::FailedPreconditionError("neither TCC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
  }
  const std::string& folder = options_.folder;
  root_ = folder + "/v1";
  TCC_RETURN_IF_ERROR(MakeFolders());
  readable_ = true;
  if (!writable_) {
    Warn(absl::StrCat("'", folder, "' is read-only: it stays as it is"));
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

absl::Status ArtifactCache::WriteRecord(const std::string& path, const std::string& text) {
  absl::Status status = WriteFileAtomically(path, text);
  if (absl::IsNotFound(status) && MakeFolders().ok() && writable_) status = WriteFileAtomically(path, text);
  return status;
}

std::shared_ptr<const MappedFile> ArtifactCache::ReadRecord(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::OpenOurs(path);
  if (file.ok()) return *file;
  if (absl::IsPermissionDenied(file.status())) WarnOnce("record", std::string(file.status().message()));
  return nullptr;
}

std::string ArtifactCache::Key(const std::vector<std::string>& parts) {
  Hasher hasher;
  for (const std::string& part : parts) hasher.UpdatePart(part);
  return hasher.Hex();
}

std::shared_ptr<const Package> ArtifactCache::Lookup(const std::string& key) {
  if (!readable_) return nullptr;
  const std::string path = PackagePath(key);
  absl::StatusOr<std::shared_ptr<const Package>> package =
      Package::Open(path, {.constant_store = constant_store(), .only_ours = true});
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

absl::StatusOr<std::shared_ptr<const Package>> ArtifactCache::BuildPrivately(const Build& build) {
  std::string path = TemporaryFolder() + "/tcc-package-XXXXXX";
  const FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, path, "write");
  const TemporaryFile temporary(path);  // what is open stays mapped
  const absl::Status built = build(path, "");
  return built.ok() ? Package::Open(path) : built;
}

absl::StatusOr<std::shared_ptr<const Package>> ArtifactCache::GetOrBuild(const std::string& key, const Build& build,
                                                                         bool* hit, double wait_seconds) {
  bool ignored;
  if (hit == nullptr) hit = &ignored;
  *hit = true;
  if (std::shared_ptr<const Package> package = Lookup(key)) return package;
  if (!writable_) {
    *hit = false;
    return BuildPrivately(build);
  }
  const FileDescriptor lock = LockKey(key, wait_seconds, [&] { return Exists(PackagePath(key)); });
  if (std::shared_ptr<const Package> package = Lookup(key)) return package;
  *hit = false;
  // Twice: a folder that was removed meanwhile is made again.
  absl::Status why;
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool again = false;
    absl::StatusOr<std::shared_ptr<const Package>> package = BuildEntry(key, build, &again);
    if (package.ok() || !again) return package;
    why = package.status();
    if (!absl::IsNotFound(why) || !MakeFolders().ok()) break;
  }
  absl::StatusOr<std::shared_ptr<const Package>> package = BuildPrivately(build);
  if (package.ok()) WarnOnce("write", absl::StrCat(why.message(), ": compiled code is not kept"));
  return package;
}

absl::StatusOr<std::shared_ptr<const Package>> ArtifactCache::BuildEntry(const std::string& key, const Build& build,
                                                                         bool* again) {
  *again = true;
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(PackagePath(key));
  if (!file.ok()) return file.status();
  if (absl::Status status = build(file->temporary_path(), constant_store()); !status.ok()) {
    // A full disk, or what else the cache has: the package may still be built elsewhere. Errors of the model are final.
    *again = absl::IsResourceExhausted(status) || !Exists(file->temporary_path()) ||
             absl::StrContains(status.message(), root_);
    return status;
  }
  // Opened before others can see it: what cannot be opened is not an entry.
  absl::StatusOr<std::shared_ptr<const Package>> package =
      Package::Open(file->temporary_path(), {.constant_store = constant_store(), .only_ours = true});
  if (!package.ok()) {
    // Removed, or another process has evicted constants that this package shares with one that went.
    *again = absl::IsNotFound(package.status()) || absl::IsFailedPrecondition(package.status());
    return WithContext("the package just built", package.status());
  }
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
