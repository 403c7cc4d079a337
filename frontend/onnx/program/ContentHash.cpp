//===- ContentHash.cpp - hash of files, for cache keys --------------------===//
#include "frontend/onnx/program/ContentHash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/cpu_count.h"

namespace tcc::onnx {

static constexpr int64_t kPieceBytes = int64_t{16} << 20;

static std::string hash(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::string(reinterpret_cast<const char *>(canonical.digest), sizeof(canonical.digest));
}

static std::string combine(const std::vector<std::string> &pieces) {
  std::string all;
  for (const std::string &piece : pieces)
    absl::StrAppend(&all, piece);
  return absl::BytesToHexString(hash(all));
}

absl::StatusOr<std::string> hashFile(const File &file) {
  size_t count = (file.size() + kPieceBytes - 1) / kPieceBytes;
  std::vector<std::string> pieces(count);
  std::vector<absl::Status> statuses(count);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    std::string buffer;
    for (size_t i; (i = next++) < count;) {
      int64_t size = std::min<int64_t>(kPieceBytes, file.size() - i * kPieceBytes);
      buffer.resize(size);
      absl::StatusOr<int64_t> got = file.read(buffer.data(), size, i * kPieceBytes);
      if (!got.ok())
        statuses[i] = got.status();
      else if (*got != size)
        statuses[i] = absl::AbortedError(absl::StrCat(file.resolvedPath(), ": changed while it was read"));
      else
        pieces[i] = hash(buffer);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>({count, static_cast<size_t>(DefaultThreadCount()), 8}); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok())
      return status;
  return combine(pieces);
}

std::string hashBytes(std::string_view bytes) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes)
    pieces.push_back(hash(bytes.substr(at, kPieceBytes)));
  return combine(pieces);
}

std::string combineHashes(const std::vector<std::string> &hashes) { return combine(hashes); }

} // namespace tcc::onnx
