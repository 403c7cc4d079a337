// Compiled kernels of devices: small entries, each under its own key.
#include <unistd.h>

#include "absl/strings/match.h"
#include "runtime/cache.h"
#include "runtime/hash.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// The checksum of what follows, and a line about the format before it.
constexpr std::string_view kFormat = "tcc-kernel 1\n";
constexpr size_t kHashDigits = 32;
constexpr size_t kHeaderBytes = kFormat.size() + kHashDigits + 1;

}  // namespace

absl::StatusOr<std::string_view> ArtifactCache::KernelBytes(std::string_view entry) {
  if (entry.size() < kHeaderBytes || entry.substr(0, kFormat.size()) != kFormat) {
    return absl::DataLossError("not a compiled kernel of this version");
  }
  const std::string_view bytes = entry.substr(kHeaderBytes);
  if (Hash128(bytes) != entry.substr(kFormat.size(), kHashDigits)) return absl::DataLossError("not what was written");
  return bytes;
}

std::optional<std::string> ArtifactCache::LookupKernel(const std::string& key) {
  if (!readable_) return std::nullopt;
  const std::string path = KernelPath(key);
  const std::shared_ptr<const MappedFile> file = ReadRecord(path);
  if (file == nullptr) return std::nullopt;
  const absl::StatusOr<std::string_view> bytes = KernelBytes(file->bytes());
  if (!bytes.ok()) {
    WarnOnce(path, absl::StrCat("'", path, "': ", bytes.status().message(), ": compiled again"));
    if (writable_) unlink(path.c_str());
    return std::nullopt;
  }
  MarkUsed(path);
  return std::string(*bytes);
}

absl::StatusOr<std::string> ArtifactCache::GetOrBuildKernel(const std::string& key, const BuildKernel& build, bool* hit,
                                                            double wait_seconds) {
  bool ignored;
  if (hit == nullptr) hit = &ignored;
  *hit = true;
  if (std::optional<std::string> bytes = LookupKernel(key)) return *std::move(bytes);
  if (!writable_) {
    *hit = false;
    return build();
  }
  const FileDescriptor lock = LockKey(key, wait_seconds, [&] { return Exists(KernelPath(key)); });
  if (std::optional<std::string> bytes = LookupKernel(key)) return *std::move(bytes);
  *hit = false;
  absl::StatusOr<std::string> bytes = build();
  if (bytes.ok()) {
    const std::string_view view(*bytes);
    const absl::Status written =
        WriteRecord(KernelPath(key), absl::StrCat(std::string(kFormat), Hash128(view), "\n", *bytes));
    if (!written.ok()) WarnOnce("write", absl::StrCat(written.message(), ": compiled kernels are not kept"));
  }
  // There are many kernels, and nobody builds this one again soon. (Who waits for the lock sees that its file went.)
  if (lock.valid()) unlink(absl::StrCat(root_, "/locks/", key, ".lock").c_str());
  return bytes;
}

void ArtifactCache::Trim() {
  if (!writable_) return;
  if (const auto evicted = Evict(options_.max_bytes, ""); !evicted.ok()) {
    WarnOnce("evict", std::string(evicted.status().message()));
  }
}

}  // namespace tcc
