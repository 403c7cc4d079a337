// What the cache remembers about model files.
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "nlohmann/json.hpp"
#include "runtime/cache.h"
#include "runtime/hash.h"
#include "runtime/json_reader.h"
#include "runtime/status.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * int64_t{1000000000} + time.tv_nsec; }

Json Identity(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino), static_cast<int64_t>(info.st_size),
          Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim)};
}

// Whether a later change must show in the times: a file changed within the clock's granularity of its last change would
// keep them. (Coarse file systems store whole seconds.)
bool IsSettled(const struct stat& info) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const bool coarse = info.st_mtim.tv_nsec == 0;
  const int64_t age = Nanoseconds(now) - std::max(Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim));
  return age > (coarse ? 2000000000 : 100000000);
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

Json ReadJson(const std::shared_ptr<const MappedFile>& file) {
  if (file == nullptr) return nullptr;
  const std::string_view text = file->bytes();
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

}  // namespace

// Read, not mapped: a file that is truncated meanwhile must not raise a signal.
absl::StatusOr<std::string> ArtifactCache::HashFile(const std::string& path, struct stat* identity, bool* settled) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return ErrnoStatus(errno, path, "open");
  if (fstat(file.get(), identity) != 0) return ErrnoStatus(errno, path, "read");
  if (!S_ISREG(identity->st_mode)) return absl::FailedPreconditionError(absl::StrCat("'", path, "' is not a file"));
  *settled = IsSettled(*identity);
  Hasher hasher;
  std::string buffer(size_t{1} << 20, '\0');
  while (true) {
    const ssize_t size = read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoStatus(errno, path, "read");
    if (size == 0) break;
    hasher.Update({buffer.data(), static_cast<size_t>(size)});
  }
  struct stat after;
  *settled = *settled && fstat(file.get(), &after) == 0 && Identity(after) == Identity(*identity);
  return hasher.Hex();
}

bool ArtifactCache::Content::IsCurrent() const {
  return settled_ && std::all_of(files_.begin(), files_.end(), [](const auto& file) {
           struct stat now;
           return stat(file.first.c_str(), &now) == 0 && Identity(now) == Identity(file.second);
         });
}

absl::StatusOr<ArtifactCache::Content> ArtifactCache::ReadContent(const std::string& path,
                                                                  const std::vector<std::string>& external_files) {
  std::vector<std::string> paths = {path};
  paths.insert(paths.end(), external_files.begin(), external_files.end());
  Content content;
  Hasher combined;
  Json files = Json::array();
  for (const std::string& one : paths) {
    struct stat identity;
    bool settled = false;
    TCC_ASSIGN_OR_RETURN(const std::string hash, HashFile(one, &identity, &settled));
    content.settled_ = content.settled_ && settled;
    content.files_.emplace_back(one, identity);
    combined.UpdatePart(hash);
    files.push_back({{"path", Absolute(one)}, {"identity", Identity(identity)}});
  }
  content.hash_ = combined.Hex();
  if (writable_ && content.settled_) {
    const Json json = {{"hash", content.hash_}, {"files", files}};
    const std::string memo = absl::StrCat(root_, "/files/", Hash128(Absolute(path)), ".json");
    WriteRecord(memo, json.dump(-1, ' ', false, Json::error_handler_t::replace)).IgnoreError();
  }
  return content;
}

absl::StatusOr<std::string> ArtifactCache::HashModel(const std::string& path,
                                                     const std::vector<std::string>& external_files) {
  TCC_ASSIGN_OR_RETURN(const Content content, ReadContent(path, external_files));
  return content.hash();
}

std::optional<std::string> ArtifactCache::RememberedModelHash(const std::string& path) {
  const std::optional<Content> content = RememberedContent(path);
  if (!content) return std::nullopt;
  return content->hash();
}

std::optional<ArtifactCache::Content> ArtifactCache::RememberedContent(const std::string& path) {
  if (!readable_) return std::nullopt;
  const std::string memo = absl::StrCat(root_, "/files/", Hash128(Absolute(path)), ".json");
  const Json json = ReadJson(ReadRecord(memo));
  JsonReader reader;
  Content content;
  content.hash_ = reader.String(json, "hash");
  bool same = true;
  reader.List(json, "files", [&](const Json& file) {
    struct stat info;
    const std::string one = reader.String(file, "path");
    same = same && stat(one.c_str(), &info) == 0 && reader.Field(file, "identity") == Identity(info);
    if (same) content.files_.emplace_back(one, info);
    return 0;
  });
  // The first file is the model itself: two paths whose hashes collide are told apart.
  if (!reader.ok() || !same || !IsHash128(content.hash_) || json["files"].empty() ||
      json["files"][0]["path"] != Absolute(path)) {
    return std::nullopt;
  }
  if (writable_) MarkUsed(memo);
  return content;
}

}  // namespace tcc
