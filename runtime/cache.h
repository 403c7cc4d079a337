// The artifact cache: packages on disk, shared by all processes of a user.
//
//   v1/packages/KEY.tcc    entries: package files, named by the hash of everything that went into them
//   v1/constants/HASH.bin  large constants, shared by packages
//   v1/kernels/KEY.kernel  kernels of devices, compiled, each with its checksum
//   v1/locks/KEY.lock      one writer per key; a dead holder's lock is released by the kernel
//   v1/files/...           content hashes of model files, by their identity
//   v1/tuning/HASH.json    which schedule of a kernel is the fastest on a processor, as measured
//   v1/notes/...           how a model was called, and what it was compiled for (cache_notes.h)
//
// All failures of the cache itself are warnings: without it everything works, more slowly. Thread-safe, and safe to use
// from many processes.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cache_notes.h"
#include "runtime/file_util.h"
#include "runtime/package.h"

namespace tcc {

class ArtifactCache {
 public:
  struct Options {
    std::string folder;  // empty: DefaultFolder()
    // Least recently used entries go beyond this. 0: $TCC_CACHE_MAX_BYTES, else 20 GiB.
    int64_t max_bytes = 0;
    // Constants no package refers to stay this long: their package may be about to be written.
    int64_t grace_seconds = 3600;
    // Receives warnings, one line each, without a newline; null: stderr.
    std::function<void(const std::string&)> warn;
    // A wait for another process is silent this long.
    double patience_seconds = 5;
  };

  // $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else $HOME/.cache/tcc; empty where none is set.
  static std::string DefaultFolder();

  // Creates the folder (0700) if need be. Where it cannot be used (it or a folder in it is not ours, not a folder, not
  // creatable): one warning, and a cache that finds and stores nothing. Entries of other users are misses.
  static std::shared_ptr<ArtifactCache> Open(const Options& options);
  static std::shared_ptr<ArtifactCache> Open() { return Open(Options()); }
  // The cache of the process, opened with the defaults at first use.
  static ArtifactCache& Global();

  bool readable() const { return readable_; }
  bool writable() const { return writable_; }
  const std::string& folder() const { return options_.folder; }
  // Folder for measured schedules; empty where nothing is kept.
  std::string tuning_store() const { return readable_ ? root_ + "/tuning" : ""; }
  std::string constant_store() const { return readable_ ? root_ + "/constants" : ""; }

  // The key for something made from these parts, in order: content hashes, options, target, versions.
  static std::string Key(const std::vector<std::string>& parts);

  // The file of an entry, whether it exists or not.
  std::string PackagePath(const std::string& key) const { return root_ + "/packages/" + key + ".tcc"; }

  // The entry, or null. A corrupt entry, or one of another version, is reported once, removed, and a miss.
  std::shared_ptr<const Package> Lookup(const std::string& key);

  // Writes a package to `path`; constants may go to `constant_store` (empty: into the package).
  using Build = std::function<absl::Status(const std::string& path, const std::string& constant_store)>;
  // The entry, built if it is missing. Of several threads and processes that want the same key, one builds; the others
  // wait and take the result, with a warning when that takes long; after `wait_seconds` (0: never) they build for
  // themselves. Without a usable folder, or where it cannot be written to, the package is built for this process only;
  // a folder that goes meanwhile is made again. `build` may be called more than once for that. Errors: those of
  // `build`, or of opening what it wrote. `hit`, if not null, says whether nothing had to be built.
  absl::StatusOr<std::shared_ptr<const Package>> GetOrBuild(const std::string& key, const Build& build,
                                                            bool* hit = nullptr, double wait_seconds = 0);

  // A kernel of a device, compiled: bytes that mean something to whoever stored them. Nothing where there is no such
  // entry; a damaged one, or one of another user, is reported once, removed, and none.
  std::string KernelPath(const std::string& key) const { return root_ + "/kernels/" + key + ".kernel"; }
  std::optional<std::string> LookupKernel(const std::string& key);
  // The kernel, built if it is missing, with the rules of GetOrBuild: one builds, others wait for at most
  // `wait_seconds` (0: any time); where nothing can be kept, it is built for the caller. Errors: those of `build`.
  // Whoever stored kernels calls Trim when done.
  using BuildKernel = std::function<absl::StatusOr<std::string>()>;
  absl::StatusOr<std::string> GetOrBuildKernel(const std::string& key, const BuildKernel& build, bool* hit = nullptr,
                                               double wait_seconds = 0);
  // Removes what was not used for longest beyond the configured bound. (Writing a package does it, too.)
  void Trim();

  // What files held when they were read.
  class Content {
   public:
    const std::string& hash() const { return hash_; }
    // Whether all files are certainly as they were then (device, inode, size, mtime, ctime): none is read. False also
    // where they were so new that a change need not show.
    bool IsCurrent() const;

   private:
    friend class ArtifactCache;
    std::string hash_;
    std::vector<std::pair<std::string, struct stat>> files_;
    bool settled_ = true;
  };
  // Content hash of a model: its file and its external data files, in order. The first call tells which files belong to
  // it: the list is remembered. Errors: a file that cannot be read.
  absl::StatusOr<Content> ReadContent(const std::string& path, const std::vector<std::string>& external_files = {});
  absl::StatusOr<std::string> HashModel(const std::string& path, const std::vector<std::string>& external_files = {});
  // The hash that HashModel gave, if none of the files has changed since (device, inode, size, mtime, ctime): no file
  // is read.
  std::optional<Content> RememberedContent(const std::string& path);
  std::optional<std::string> RememberedModelHash(const std::string& path);

  // How the model was called so far, by all processes. Empty where nothing is known, or the record is damaged.
  CallNotes ReadNotes(const std::string& model_key);
  // Reads the notes, without specialisations that are no longer in the cache, lets `change` add to them, and writes
  // them if they differ: one process and thread at a time. `change` runs once, also where nothing can be kept. Returns
  // the notes as they are now. (Of a process that is stopped meanwhile nobody waits for long: they are hints.)
  CallNotes UpdateNotes(const std::string& model_key, const std::function<void(CallNotes&)>& change);

  // For `tcc cache`.
  struct Stats {
    int64_t packages = 0, package_bytes = 0;
    int64_t constants = 0, constant_bytes = 0;
    int64_t kernels = 0, kernel_bytes = 0;
    int64_t records = 0, record_bytes = 0;  // what is remembered of model files, of calls, of measurements
    int64_t max_bytes = 0;
  };
  Stats GetStats() const;
  struct EntryInfo {
    std::string key;
    int64_t bytes = 0;
    int64_t constant_bytes = 0;  // in the constant store
    int64_t last_used = 0;       // seconds since 1970
    int specialisations = 0;
    std::map<std::string, std::string> options;
    std::string error;  // not empty: the entry is damaged
  };
  std::vector<EntryInfo> List() const;  // most recently used first
  // Everything, temporaries of living processes too: these build again.
  absl::Status Clear();
  // Removes least recently used packages, kernels and records until at most `max_bytes` remain (negative: the
  // configured bound), then constants that nothing refers to and temporaries left by dead processes. Returns the number
  // of packages and kernels removed.
  absl::StatusOr<int> CollectGarbage(int64_t max_bytes = -1);
  // Reads everything, removes what is damaged, and returns a line about each; removes temporaries of dead processes.
  absl::StatusOr<std::vector<std::string>> Verify();

 private:
  explicit ArtifactCache(Options options) : options_(std::move(options)) {}

  void Prepare();
  absl::Status PrepareFolder();
  // Makes the folders that are missing, checks that all are ours, and says in writable_ whether they can be written to.
  absl::Status MakeFolders();
  void Warn(const std::string& message);
  void WarnOnce(const std::string& topic, const std::string& message);
  // Held until the descriptor closes; an invalid one where locks do not work, when another process has held it for
  // `wait_seconds` (0: any), or when `done` says that there is nothing to wait for any more.
  FileDescriptor LockKey(const std::string& key, double wait_seconds, const std::function<bool()>& done = nullptr);
  // Small files that are not packages. Null for none, one that cannot be read, or one of another user (a warning).
  std::shared_ptr<const MappedFile> ReadRecord(const std::string& path);
  absl::Status WriteRecord(const std::string& path, const std::string& text);
  // `again`: whether an error may be one of the folder, not of what is built.
  absl::StatusOr<std::shared_ptr<const Package>> BuildEntry(const std::string& key, const Build& build, bool* again);
  // Temporaries of processes that died; `all`: of any process.
  absl::Status RemoveTemporaries(bool all) const;
  std::string NotesPath(const std::string& model_key) const;
  absl::StatusOr<std::shared_ptr<const Package>> BuildPrivately(const Build& build);
  // The bytes of an entry below kernels/, or what is wrong with it.
  static absl::StatusOr<std::string_view> KernelBytes(std::string_view entry);
  absl::StatusOr<int> Evict(int64_t max_bytes, const std::string& keep);
  absl::StatusOr<std::string> HashFile(const std::string& path, struct stat* identity, bool* settled);

  Options options_;
  std::string root_;  // folder + "/v1"
  bool readable_ = false;
  std::atomic<bool> writable_{false};
  std::mutex mutex_;
  std::set<std::string> warned_;  // guarded by mutex_
};

}  // namespace tcc
