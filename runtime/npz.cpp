#include <zip.h>

#include <memory>
#include <set>

#include "runtime/file_util.h"
#include "runtime/npy.h"
#include "runtime/status.h"
#include "runtime/zip.h"

namespace tcc {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string ErrorText(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

absl::StatusOr<Tensor> ReadEntry(zip_t* archive, zip_uint64_t index, uint64_t size) {
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(archive, index, 0));
  if (entry == nullptr) return absl::InvalidArgumentError(zip_strerror(archive));
  const ByteSource read = [&](char* buffer, size_t wanted) -> absl::Status {
    while (wanted > 0) {
      const zip_int64_t got = zip_fread(entry.get(), buffer, wanted);
      if (got < 0) return absl::InvalidArgumentError(zip_file_strerror(entry.get()));
      if (got == 0) return absl::InvalidArgumentError("npz: truncated");
      buffer += got;
      wanted -= static_cast<size_t>(got);
    }
    return absl::OkStatus();
  };
  TCC_ASSIGN_OR_RETURN(const Tensor tensor, ReadNpyFrom(read, size));
  // The end of the entry, where its checksum is checked.
  char extra;
  if (zip_fread(entry.get(), &extra, 1) != 0) return absl::InvalidArgumentError("npz: corrupt");
  return tensor;
}

}  // namespace

absl::StatusOr<NamedTensors> LoadNpz(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));  // says what is wrong better than libzip does
  int error = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive == nullptr) return absl::InvalidArgumentError(absl::StrCat(path, ": ", ErrorText(error)));
  NamedTensors tensors;
  std::set<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0 ||
        (info.valid & kNeeded) != kNeeded) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", zip_strerror(archive.get())));
    }
    std::string name = info.name;
    if (name.size() >= kSuffix.size() && name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0) {
      name.resize(name.size() - kSuffix.size());
    }
    if (!names.insert(name).second) return absl::InvalidArgumentError(absl::StrCat(path, ": two arrays '", name, "'"));
    absl::StatusOr<Tensor> tensor = ReadEntry(archive.get(), static_cast<zip_uint64_t>(i), info.size);
    if (!tensor.ok()) return WithContext(absl::StrCat(path, ": array '", name, "'"), tensor.status());
    tensors.emplace_back(std::move(name), *std::move(tensor));
  }
  return tensors;
}

absl::Status SaveNpz(const std::string& path, const NamedTensors& tensors) {
  TCC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ZipWriter zip(file.file());
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second) return absl::InvalidArgumentError(absl::StrCat("npz: two arrays '", name, "'"));
    const absl::StatusOr<std::string> bytes = NpyBytes(tensor);
    if (!bytes.ok()) return WithContext(absl::StrCat("array '", name, "'"), bytes.status());
    TCC_RETURN_IF_ERROR(zip.Add(name + std::string(kSuffix), *bytes));
  }
  TCC_RETURN_IF_ERROR(zip.Finish());
  return file.Commit();
}

}  // namespace tcc
