// Zip archives of stored entries, written aligned and read in place: what packages and .npz files are made of.
//
// libzip, which reads other people's archives (npz.cpp), gives neither the place of an entry's bytes in the file nor a
// way to align them, and both are the point here: constants are mapped from the package. Format: PKWARE's APPNOTE 6.3,
// with the 64-bit extensions where sizes need them. Internal to runtime/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file_util.h"

namespace tcc {

// A stretch of an entry's bytes; what lies between stretches is zeros.
struct BytePiece {
  int64_t offset = 0;
  std::string_view bytes;
};

class ZipWriter {
 public:
  // Writes to `file`, from its beginning; it must outlive the writer and be seekable.
  explicit ZipWriter(const FileDescriptor& file) : file_(file) {}

  // `alignment`: a power of two, of the place of the first byte in the file.
  absl::Status Add(const std::string& name, std::string_view bytes, int64_t alignment = 64);
  // The pieces are ascending, do not overlap and lie in [0, size).
  absl::Status Add(const std::string& name, const std::vector<BytePiece>& pieces, int64_t size, int64_t alignment = 64);
  // Writes the directory; nothing can be added after it.
  absl::Status Finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size, offset;
  };
  absl::Status Put(std::string_view bytes);
  absl::Status PutZeros(int64_t count, uint32_t* crc);

  const FileDescriptor& file_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

// The entries of an archive in memory. Everything the archive says is checked against its size: an archive that is
// truncated, altered in its directory, compressed or encrypted is an InvalidArgument error.
class ZipReader {
 public:
  ZipReader() = default;  // of no entries
  static absl::StatusOr<ZipReader> Open(std::string_view archive);

  bool Has(const std::string& name) const { return entries_.count(name) != 0; }
  // NotFound for an entry that is not there. The bytes are inside the archive, and not checked.
  absl::StatusOr<std::string_view> Bytes(const std::string& name) const;
  // The same, and their CRC is checked.
  absl::StatusOr<std::string_view> CheckedBytes(const std::string& name) const;
  std::vector<std::string> Names() const;

 private:
  struct Entry {
    std::string_view bytes;
    uint32_t crc;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace tcc
