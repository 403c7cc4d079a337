// What `tcc cache` does, and keeping the size bounded.
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "runtime/cache.h"
#include "runtime/hash.h"
#include "runtime/status.h"

namespace tcc {
namespace {

struct File {
  std::string path;
  std::string name;  // without folder and suffix
  int64_t bytes = 0;
  int64_t used_ns = 0;
};

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * int64_t{1000000000} + time.tv_nsec; }

int64_t SecondsAgo(int64_t seconds) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now) - seconds * 1000000000;
}

// The files of a folder with a suffix; temporaries are not listed. Files may go away meanwhile.
std::vector<File> FilesOf(const std::string& folder, const std::string& suffix) {
  std::vector<File> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= suffix.size() || name[0] == '.' || name.substr(name.size() - suffix.size()) != suffix) continue;
    struct stat info;
    if (stat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    files.push_back({it->path().string(), name.substr(0, name.size() - suffix.size()),
                     static_cast<int64_t>(info.st_size), Nanoseconds(info.st_mtim)});
  }
  return files;
}

// Small files that are not packages: what is remembered of model files, of calls, of measurements.
constexpr const char* kRecordFolders[] = {"/files", "/notes", "/tuning"};

constexpr const char* kKernelSuffix = ".kernel";

std::vector<File> RecordsOf(const std::string& root) {
  std::vector<File> records;
  for (const char* folder : kRecordFolders) {
    std::vector<File> files = FilesOf(root + folder, ".json");
    records.insert(records.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
  }
  return records;
}

int64_t TotalBytes(const std::vector<File>& files) {
  int64_t total = 0;
  for (const File& file : files) total += file.bytes;
  return total;
}

absl::Status Remove(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, path, "remove");
}

// The constants that a package needs; none for a damaged one.
std::set<std::string> ConstantsOf(const std::string& path, const std::string& store) {
  std::set<std::string> files;
  const auto package = Package::Open(path, {.constant_store = store, .only_ours = true});
  for (int i = 0; package.ok() && i < (*package)->size(); ++i) {
    if (const std::string file = (*package)->constants_file(i); !file.empty()) files.insert(file);
  }
  return files;
}

}  // namespace

ArtifactCache::Stats ArtifactCache::GetStats() const {
  Stats stats;
  stats.max_bytes = options_.max_bytes;
  if (!readable_) return stats;
  const std::vector<File> packages = FilesOf(root_ + "/packages", ".tcc"),
                          constants = FilesOf(root_ + "/constants", ".bin"),
                          kernels = FilesOf(root_ + "/kernels", kKernelSuffix), records = RecordsOf(root_);
  stats.packages = static_cast<int64_t>(packages.size());
  stats.package_bytes = TotalBytes(packages);
  stats.constants = static_cast<int64_t>(constants.size());
  stats.constant_bytes = TotalBytes(constants);
  stats.kernels = static_cast<int64_t>(kernels.size());
  stats.kernel_bytes = TotalBytes(kernels);
  stats.records = static_cast<int64_t>(records.size());
  stats.record_bytes = TotalBytes(records);
  return stats;
}

std::vector<ArtifactCache::EntryInfo> ArtifactCache::List() const {
  std::vector<EntryInfo> entries;
  if (!readable_) return entries;
  std::vector<File> files = FilesOf(root_ + "/packages", ".tcc");
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used_ns > b.used_ns; });
  for (const File& file : files) {
    EntryInfo entry;
    entry.key = file.name;
    entry.bytes = file.bytes;
    entry.last_used = file.used_ns / 1000000000;
    const auto package = Package::Open(file.path, {.constant_store = constant_store(), .only_ours = true});
    if (!package.ok()) {
      entry.error = std::string(package.status().message());
    } else {
      entry.specialisations = (*package)->size();
      entry.options = (*package)->options();
      std::set<std::string> counted;
      for (int i = 0; i < (*package)->size(); ++i) {
        const std::string constants = (*package)->constants_file(i);
        if (!constants.empty() && counted.insert(constants).second)
          entry.constant_bytes += (*package)->constants_bytes(i);
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::Status ArtifactCache::Clear() {
  if (!readable_) return absl::OkStatus();
  absl::Status status;
  for (const auto& [folder, suffix] :
       {std::pair("/packages", ".tcc"), std::pair("/constants", ".bin"), std::pair("/kernels", kKernelSuffix)}) {
    for (const File& file : FilesOf(root_ + folder, suffix)) status.Update(Remove(file.path));
  }
  for (const File& file : RecordsOf(root_)) status.Update(Remove(file.path));
  status.Update(RemoveTemporaries(/*all=*/true));
  return status;
}

absl::Status ArtifactCache::RemoveTemporaries(bool all) const {
  const int64_t oldest = SecondsAgo(options_.grace_seconds);
  absl::Status status;
  for (const char* folder : {"/packages", "/constants", "/files", "/notes", "/tuning", "/kernels"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(root_ + folder, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.rfind(".tmp-", 0) != 0) continue;
      struct stat info;
      // (Of another machine or container, or from before a restart: by age.)
      if (all || WriterIsGone(name) || (stat(it->path().c_str(), &info) == 0 && Nanoseconds(info.st_mtim) <= oldest)) {
        status.Update(Remove(it->path().string()));
      }
    }
  }
  return status;
}

absl::StatusOr<int> ArtifactCache::Evict(int64_t max_bytes, const std::string& keep) {
  TCC_RETURN_IF_ERROR(RemoveTemporaries(/*all=*/false));
  std::vector<File> packages = FilesOf(root_ + "/packages", ".tcc");
  std::vector<File> constants = FilesOf(root_ + "/constants", ".bin");
  std::vector<File> kernels = FilesOf(root_ + "/kernels", kKernelSuffix);
  std::vector<File> records = RecordsOf(root_);
  int64_t total = TotalBytes(packages) + TotalBytes(constants) + TotalBytes(kernels) + TotalBytes(records);
  if (total <= max_bytes) return 0;

  // Who needs which constants: they go with the last package that does.
  const std::string store = constant_store();
  std::map<std::string, int> users;
  std::map<std::string, const File*> known;
  std::map<std::string, std::set<std::string>> needs;
  for (const File& file : constants) known[file.path] = &file;
  for (const File& package : packages) {
    needs[package.path] = ConstantsOf(package.path, store);
    for (const std::string& file : needs[package.path]) ++users[file];
  }
  const int64_t oldest = SecondsAgo(options_.grace_seconds);
  for (const File& file : constants) {
    if (users.count(file.path) != 0 || file.used_ns > oldest) continue;
    TCC_RETURN_IF_ERROR(Remove(file.path));
    total -= file.bytes;
  }

  // Packages, kernels and records, whichever was not used for longest. (A record that goes is learnt again.)
  int removed = 0;
  std::vector<File> oldest_first = std::move(records);
  oldest_first.insert(oldest_first.end(), packages.begin(), packages.end());
  oldest_first.insert(oldest_first.end(), kernels.begin(), kernels.end());
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const File& a, const File& b) { return a.used_ns < b.used_ns; });
  for (const File& file : oldest_first) {
    if (total <= max_bytes) break;
    const auto needed = needs.find(file.path);
    if (needed != needs.end() && file.name == keep) continue;
    TCC_RETURN_IF_ERROR(Remove(file.path));
    total -= file.bytes;
    if (absl::EndsWith(file.path, kKernelSuffix)) ++removed;
    if (needed == needs.end()) continue;
    ++removed;
    for (const std::string& constants_file : needed->second) {
      if (--users[constants_file] > 0 || known.count(constants_file) == 0) continue;
      // Used since: perhaps by a package that is being written.
      struct stat now;
      if (stat(constants_file.c_str(), &now) != 0 || Nanoseconds(now.st_mtim) != known[constants_file]->used_ns)
        continue;
      TCC_RETURN_IF_ERROR(Remove(constants_file));
      total -= known[constants_file]->bytes;
    }
  }
  return removed;
}

absl::StatusOr<int> ArtifactCache::CollectGarbage(int64_t max_bytes) {
  if (!writable_) return absl::FailedPreconditionError("the cache cannot be written to");
  TCC_ASSIGN_OR_RETURN(const int removed, Evict(max_bytes < 0 ? options_.max_bytes : max_bytes, ""));
  const int64_t oldest = SecondsAgo(options_.grace_seconds);
  std::set<std::string> needed;
  for (const File& package : FilesOf(root_ + "/packages", ".tcc"))
    needed.merge(ConstantsOf(package.path, constant_store()));
  for (const File& file : FilesOf(root_ + "/constants", ".bin")) {
    if (file.used_ns <= oldest && needed.count(file.path) == 0) TCC_RETURN_IF_ERROR(Remove(file.path));
  }
  return removed;
}

absl::StatusOr<std::vector<std::string>> ArtifactCache::Verify() {
  std::vector<std::string> problems;
  if (!readable_) return problems;
  const auto remove = [&](const std::string& path, absl::string_view what) -> absl::Status {
    problems.push_back(absl::StrCat(path, ": ", what, writable_ ? " (removed)" : ""));
    return writable_ ? Remove(path) : absl::OkStatus();
  };
  // Constants first: a package whose constants go is damaged too.
  for (const File& file : FilesOf(root_ + "/constants", ".bin")) {
    const auto mapped = MappedFile::OpenOurs(file.path);
    if (absl::IsPermissionDenied(mapped.status())) TCC_RETURN_IF_ERROR(remove(file.path, mapped.status().message()));
    if (!mapped.ok()) continue;
    constexpr size_t kSlack = 64;
    const std::string_view bytes = (*mapped)->bytes();
    if (bytes.size() < kSlack || Hash128(bytes.substr(0, bytes.size() - kSlack)) != file.name) {
      TCC_RETURN_IF_ERROR(remove(file.path, "not what was written"));
    }
  }
  for (const File& file : FilesOf(root_ + "/packages", ".tcc")) {
    const auto package = Package::Open(file.path, {.constant_store = constant_store(), .only_ours = true});
    const absl::Status status = package.ok() ? (*package)->VerifyConstants() : package.status();
    if (!status.ok()) TCC_RETURN_IF_ERROR(remove(file.path, status.message()));
  }
  for (const File& file : FilesOf(root_ + "/kernels", kKernelSuffix)) {
    const auto mapped = MappedFile::OpenOurs(file.path);
    absl::Status status = mapped.status();
    if (mapped.ok()) status = KernelBytes((*mapped)->bytes()).status();
    if (!status.ok() && !absl::IsNotFound(status)) TCC_RETURN_IF_ERROR(remove(file.path, status.message()));
  }
  if (writable_) TCC_RETURN_IF_ERROR(RemoveTemporaries(/*all=*/false));
  return problems;
}

}  // namespace tcc
