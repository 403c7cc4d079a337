#include "runtime/zip.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/status.h"

namespace tcc {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kAlignmentExtra = 0xd935;  // as Android's zipalign: other tools know to ignore it
constexpr uint64_t kMax32 = 0xffffffff, kMax16 = 0xffff;
constexpr uint16_t kVersion = 45;         // with 64-bit extensions
constexpr uint16_t kDate = (1 << 5) | 1;  // 1980-01-01: the same package for the same contents
constexpr uint16_t kUtf8Names = 1 << 11;

class Bytes {
 public:
  Bytes& U16(uint64_t value) { return Put(value, 2); }
  Bytes& U32(uint64_t value) { return Put(value, 4); }
  Bytes& U64(uint64_t value) { return Put(value, 8); }
  Bytes& Text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  Bytes& Put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

uint64_t Get(std::string_view bytes, size_t offset, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[offset + static_cast<size_t>(i)])) << (8 * i);
  }
  return value;
}

uint32_t Crc(uint32_t crc, std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("zip archive: ", what)); }

}  // namespace

absl::Status ZipWriter::Put(std::string_view bytes) {
  TCC_RETURN_IF_ERROR(file_.Write(bytes));
  position_ += bytes.size();
  return absl::OkStatus();
}

absl::Status ZipWriter::PutZeros(int64_t count, uint32_t* crc) {
  static constexpr std::array<char, 4096> kZeros = {};
  while (count > 0) {
    const std::string_view some(kZeros.data(), static_cast<size_t>(std::min<int64_t>(count, kZeros.size())));
    if (crc != nullptr) *crc = Crc(*crc, some);
    TCC_RETURN_IF_ERROR(Put(some));
    count -= static_cast<int64_t>(some.size());
  }
  return absl::OkStatus();
}

absl::Status ZipWriter::Add(const std::string& name, std::string_view bytes, int64_t alignment) {
  return Add(name, {{0, bytes}}, static_cast<int64_t>(bytes.size()), alignment);
}

absl::Status ZipWriter::Add(const std::string& name, const std::vector<BytePiece>& pieces, int64_t size,
                            int64_t alignment) {
  const bool large = static_cast<uint64_t>(size) >= kMax32;
  Entry entry{name, 0, static_cast<uint64_t>(size), position_};
  const auto local_header = [&](uint32_t crc, uint64_t padding) {
    Bytes extra;
    if (large) extra.U16(kZip64Extra).U16(16).U64(entry.size).U64(entry.size);
    extra.U16(kAlignmentExtra).U16(2 + padding).U16(static_cast<uint64_t>(alignment)).Text(std::string(padding, '\0'));
    Bytes header;
    header.U32(kLocalHeader).U16(kVersion).U16(kUtf8Names).U16(0).U16(0).U16(kDate).U32(crc);
    header.U32(large ? kMax32 : entry.size).U32(large ? kMax32 : entry.size).U16(name.size()).U16(extra.str().size());
    return header.Text(name).Text(extra.str()).str();
  };
  const auto unit = static_cast<uint64_t>(alignment);
  const uint64_t unpadded = position_ + local_header(0, 0).size();
  const uint64_t padding = (unit - unpadded % unit) % unit;
  TCC_RETURN_IF_ERROR(Put(local_header(0, padding)));

  int64_t done = 0;
  for (const BytePiece& piece : pieces) {
    const auto length = static_cast<int64_t>(piece.bytes.size());
    if (piece.offset < done || length > size - piece.offset) return absl::InternalError("zip: pieces overlap");
    TCC_RETURN_IF_ERROR(PutZeros(piece.offset - done, &entry.crc));
    entry.crc = Crc(entry.crc, piece.bytes);
    TCC_RETURN_IF_ERROR(Put(piece.bytes));
    done = piece.offset + length;
  }
  TCC_RETURN_IF_ERROR(PutZeros(size - done, &entry.crc));

  const std::string header = local_header(entry.crc, padding);
  if (pwrite(file_.get(), header.data(), header.size(), static_cast<off_t>(entry.offset)) !=
      static_cast<ssize_t>(header.size())) {
    return ErrnoStatus(errno, name, "write");
  }
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status ZipWriter::Finish() {
  const uint64_t start = position_;
  for (const Entry& entry : entries_) {
    const bool large = entry.size >= kMax32 || entry.offset >= kMax32;
    Bytes extra;
    if (large) extra.U16(kZip64Extra).U16(24).U64(entry.size).U64(entry.size).U64(entry.offset);
    Bytes header;
    header.U32(kCentralHeader).U16(3 << 8 | kVersion).U16(kVersion).U16(kUtf8Names).U16(0).U16(0).U16(kDate);
    header.U32(entry.crc).U32(large ? kMax32 : entry.size).U32(large ? kMax32 : entry.size).U16(entry.name.size());
    header.U16(extra.str().size()).U16(0).U16(0).U16(0).U32(uint64_t{0100644} << 16).U32(large ? kMax32 : entry.offset);
    TCC_RETURN_IF_ERROR(Put(header.Text(entry.name).Text(extra.str()).str()));
  }
  const uint64_t size = position_ - start, count = entries_.size();
  Bytes end;
  if (start >= kMax32 || size >= kMax32 || count >= kMax16) {
    end.U32(kZip64End).U64(44).U16(kVersion).U16(kVersion).U32(0).U32(0).U64(count).U64(count).U64(size).U64(start);
    end.U32(kZip64Locator).U32(0).U64(position_).U32(1);
  }
  end.U32(kEnd).U16(0).U16(0).U16(std::min(count, kMax16)).U16(std::min(count, kMax16));
  end.U32(std::min(size, kMax32)).U32(std::min(start, kMax32)).U16(0);
  return Put(end.str());
}

absl::StatusOr<ZipReader> ZipReader::Open(std::string_view archive) {
  constexpr size_t kEndSize = 22, kLocatorSize = 20, kZip64EndSize = 56, kCentralSize = 46, kLocalSize = 30;
  // The end record is last, but for a comment of at most 64 KiB.
  if (archive.size() < kEndSize) return Bad("too short");
  size_t end = archive.size() - kEndSize;
  const size_t lowest = end > kMax16 ? end - kMax16 : 0;
  while (Get(archive, end, 4) != kEnd || end + kEndSize + Get(archive, end + 20, 2) != archive.size()) {
    if (end == lowest) return Bad("no end record: not a zip archive, or truncated");
    --end;
  }
  uint64_t count = Get(archive, end + 10, 2), size = Get(archive, end + 12, 4), start = Get(archive, end + 16, 4);
  uint64_t limit = end;  // the directory ends before it
  if (count == kMax16 || size == kMax32 || start == kMax32) {
    if (end < kLocatorSize || Get(archive, end - kLocatorSize, 4) != kZip64Locator) return Bad("no 64-bit end record");
    limit = Get(archive, end - kLocatorSize + 8, 8);
    if (limit > end || end - limit < kZip64EndSize || Get(archive, limit, 4) != kZip64End)
      return Bad("bad 64-bit end record");
    count = Get(archive, limit + 32, 8);
    size = Get(archive, limit + 40, 8);
    start = Get(archive, limit + 48, 8);
  }
  if (start > limit || size != limit - start || count > size / kCentralSize) return Bad("the directory lies outside");

  ZipReader reader;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  uint64_t at = start;
  for (uint64_t i = 0; i < count; ++i) {
    if (limit - at < kCentralSize || Get(archive, at, 4) != kCentralHeader) return Bad("bad directory entry");
    const uint64_t flags = Get(archive, at + 8, 2), method = Get(archive, at + 10, 2);
    const uint64_t name_size = Get(archive, at + 28, 2), extra_size = Get(archive, at + 30, 2);
    const uint64_t comment_size = Get(archive, at + 32, 2);
    uint64_t packed = Get(archive, at + 20, 4), unpacked = Get(archive, at + 24, 4), offset = Get(archive, at + 42, 4);
    const auto crc = static_cast<uint32_t>(Get(archive, at + 16, 4));
    if (limit - at - kCentralSize < name_size + extra_size + comment_size) return Bad("bad directory entry");
    const std::string name(archive.substr(at + kCentralSize, name_size));
    std::string_view extra = archive.substr(at + kCentralSize + name_size, extra_size);
    while (extra.size() >= 4) {
      const uint64_t id = Get(extra, 0, 2), length = Get(extra, 2, 2);
      if (length > extra.size() - 4) return Bad("bad extra field");
      if (id == kZip64Extra) {
        size_t next = 4;
        for (uint64_t* field : {&unpacked, &packed, &offset}) {
          if (*field != kMax32) continue;
          if (next + 8 > 4 + length) return Bad("bad 64-bit sizes");
          *field = Get(extra, next, 8);
          next += 8;
        }
      }
      extra.remove_prefix(4 + length);
    }
    at += kCentralSize + name_size + extra_size + comment_size;

    if ((flags & 1) != 0) return Bad(absl::StrCat("entry '", name, "' is encrypted"));
    if (method != 0 || packed != unpacked) return Bad(absl::StrCat("entry '", name, "' is compressed"));
    if (offset > start || start - offset < kLocalSize || Get(archive, offset, 4) != kLocalHeader) {
      return Bad(absl::StrCat("entry '", name, "' lies outside"));
    }
    const uint64_t header_size = kLocalSize + Get(archive, offset + 26, 2) + Get(archive, offset + 28, 2);
    if (start - offset < header_size || start - offset - header_size < unpacked) {
      return Bad(absl::StrCat("entry '", name, "' lies outside"));
    }
    if (Get(archive, offset + 26, 2) != name_size || archive.substr(offset + kLocalSize, name_size) != name) {
      return Bad(absl::StrCat("entry '", name, "' has two names"));
    }
    ranges.emplace_back(offset, offset + header_size + unpacked);
    const Entry entry{archive.substr(offset + header_size, unpacked), crc};
    if (!reader.entries_.emplace(name, entry).second) return Bad(absl::StrCat("two entries '", name, "'"));
  }
  if (at != limit) return Bad("bad directory");
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return Bad("entries overlap");
  }
  return reader;
}

absl::StatusOr<std::string_view> ZipReader::Bytes(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return absl::NotFoundError(absl::StrCat("zip archive: no entry '", name, "'"));
  return it->second.bytes;
}

absl::StatusOr<std::string_view> ZipReader::CheckedBytes(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(name));
  if (Crc(0, bytes) != entries_.at(name).crc) return Bad(absl::StrCat("entry '", name, "' is corrupt"));
  return bytes;
}

std::vector<std::string> ZipReader::Names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace tcc
