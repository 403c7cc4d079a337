//===- ExternalData.cpp - files beside the model that hold tensors --------===//
#include "frontend/onnx/program/ExternalData.h"

#include <stdlib.h>

#include <charconv>
#include <optional>

#include "absl/strings/str_cat.h"
#include "onnx/onnx-ml.pb.h"
#include "runtime/status.h"

namespace tcc::onnx {

static std::string resolveFolder(const std::string &path) {
  char *resolved = ::realpath(path.c_str(), nullptr);
  if (!resolved)
    return "";
  std::string result = resolved;
  ::free(resolved);
  return result;
}

ExternalFiles::ExternalFiles(const std::string &folder, const std::string &realFolder,
                             const std::vector<std::string> &roots)
    : folder(folder) {
  for (const std::string &path : {folder, realFolder})
    if (!path.empty())
      modelFolders.push_back(resolveFolder(path));
  for (const std::string &root : roots)
    userRoots.push_back(resolveFolder(root));
}

static bool liesIn(std::string_view file, std::string_view folder) {
  if (folder.empty())
    return false;
  if (folder == "/")
    return true;
  return file.size() > folder.size() && file.substr(0, folder.size()) == folder && file[folder.size()] == '/';
}

static bool liesInAny(const std::string &file, const std::vector<std::string> &folders) {
  for (const std::string &folder : folders)
    if (liesIn(file, folder))
      return true;
  return false;
}

absl::StatusOr<ExternalFiles::Entry> ExternalFiles::open(const std::string &location) const {
  static constexpr char kWiden[] =
      "pass --external-data-root DIR (LoadOptions::externalDataRoots) if you trust the model";
  if (folder.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("its data is in another file ('", location, "'), but the model was not loaded from a file"));
  std::string path = location.front() == '/' ? location : absl::StrCat(folder, "/", location);
  absl::StatusOr<std::shared_ptr<const File>> opened = File::open(path);
  if (!opened.ok())
    return WithContext(absl::StrCat("its external data '", location, "'"), opened.status());
  const File &file = **opened;
  if (!liesInAny(file.resolvedPath(), userRoots)) {
    if (!liesInAny(file.resolvedPath(), modelFolders))
      return absl::PermissionDeniedError(absl::StrCat(
          "its external data '", location, "' lies outside the model's folder (", file.resolvedPath(), "); ", kWiden));
    if (file.status().st_nlink > 1)
      return absl::PermissionDeniedError(
          absl::StrCat("its external data '", location,
                       "' has several hard links, so it may be a file from elsewhere; copy it, or ", kWiden));
  }
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const FileMapping> mapping, FileMapping::map(file));
  return Entry{*std::move(opened), std::move(mapping)};
}

namespace {
struct Range {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
} // namespace

static absl::StatusOr<Range> parseRange(const ::onnx::TensorProto &tensor) {
  Range range;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      range.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      uint64_t value = 0;
      const char *end = entry.value().data() + entry.value().size();
      auto [rest, error] = std::from_chars(entry.value().data(), end, value);
      if (error != std::errc() || rest != end)
        return absl::InvalidArgumentError(absl::StrCat("the ", entry.key(), " of its external data is '", entry.value(),
                                                       "', which is no number of bytes"));
      if (entry.key() == "offset")
        range.offset = value;
      else
        range.length = value;
    }
  }
  if (range.location.empty())
    return absl::InvalidArgumentError("its data is external, but no location is given");
  return range;
}

absl::Status ExternalFiles::resolve(const ::onnx::TensorProto &tensor) {
  TCC_ASSIGN_OR_RETURN(Range range, parseRange(tensor));
  if (!entries.count(range.location)) {
    TCC_ASSIGN_OR_RETURN(entries[range.location], open(range.location));
  }
  return bytes(tensor).status();
}

absl::StatusOr<std::string_view> ExternalFiles::bytes(const ::onnx::TensorProto &tensor) const {
  TCC_ASSIGN_OR_RETURN(Range range, parseRange(tensor));
  auto it = entries.find(range.location);
  if (it == entries.end())
    return absl::InternalError(absl::StrCat("external data '", range.location, "' was not resolved"));
  std::string_view all = it->second.mapping->bytes();
  uint64_t length = range.length.value_or(range.offset > all.size() ? 0 : all.size() - range.offset);
  // In this order nothing wraps.
  if (length > all.size() || range.offset > all.size() - length)
    return absl::InvalidArgumentError(absl::StrCat("its external data is ", length, " bytes at ", range.offset, " of '",
                                                   range.location, "', which has only ", all.size(), " bytes"));
  return all.substr(range.offset, length);
}

} // namespace tcc::onnx
