#include "compiler/model_files.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/Program.h"
#include "runtime/status.h"

namespace tcc {
namespace {

std::optional<struct stat> StatOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

}  // namespace

ModelFiles::ModelFiles(const std::string& path, const std::map<std::string, std::string>& constants,
                       std::vector<std::string> external_data_roots)
    : external_data_roots_(std::move(external_data_roots)), opened_(StatOf(path)) {
  files_.push_back({"", path});
  for (const auto& [name, file] : constants) files_.push_back({name, file});
}

absl::StatusOr<ArtifactCache::Content> ModelFiles::Read(const File& file, ArtifactCache& cache, bool remembered) const {
  if (!file.name.empty()) return cache.ReadContent(file.path);
  if (remembered) {
    if (std::optional<ArtifactCache::Content> content = cache.RememberedContent(file.path)) return *std::move(content);
  }
  onnx::LoadOptions options;
  options.externalDataRoots = external_data_roots_;
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const onnx::Program> program, onnx::Program::load(file.path, options));
  return cache.ReadContent(file.path, program->externalFiles());
}

// (Its status may have changed, as by a hard link: no ctime.)
bool ModelFiles::IsTheOneOpened(const std::string& path) const {
  const std::optional<struct stat> now = StatOf(path);
  return now && opened_ && now->st_dev == opened_->st_dev && now->st_ino == opened_->st_ino &&
         now->st_size == opened_->st_size && now->st_mtim.tv_sec == opened_->st_mtim.tv_sec &&
         now->st_mtim.tv_nsec == opened_->st_mtim.tv_nsec;
}

absl::StatusOr<std::vector<std::string>> ModelFiles::Hashes(ArtifactCache& cache, bool remembered) {
  std::vector<std::string> parts;
  for (File& file : files_) {
    if (!file.content || !file.content->IsCurrent()) {
      TCC_ASSIGN_OR_RETURN(ArtifactCache::Content now, Read(file, cache, remembered));
      const bool same = file.content        ? file.content->hash() == now.hash()
                        : file.name.empty() ? IsTheOneOpened(file.path)
                                            : true;
      if (!same) {
        return absl::FailedPreconditionError(absl::StrCat(
            file.path, ": the file, or data that belongs to it, has changed since it was opened; open it anew"));
      }
      file.content = std::move(now);
    }
    if (!file.name.empty()) parts.push_back(file.name);
    parts.push_back(file.content->hash());
  }
  return parts;
}

}  // namespace tcc
