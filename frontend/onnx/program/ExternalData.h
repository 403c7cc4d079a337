//===- ExternalData.h - files beside the model that hold tensors *- C++ -*-===//
//
// A model names files that hold its tensors' data. Which file a name may reach is a matter of security: a model from
// elsewhere must not read other files of this machine. A file is used only if, all symlinks resolved, it lies in
//   * the folder of the model file's path as given, or
//   * the folder of the real file behind that path (model caches link into a folder of blobs), or
//   * a folder the user named (--external-data-root);
// and only in the last it may have several hard links: another name of the file may lie anywhere.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/program/FileMapping.h"

namespace onnx {
class TensorProto;
}

namespace tcc::onnx {

class ExternalFiles {
public:
  /// `folder`: of the model as given; empty for a model in memory (all external data is refused then). `realFolder`: of
  /// the file behind it.
  ExternalFiles(const std::string &folder, const std::string &realFolder, const std::vector<std::string> &roots);

  /// Opens and maps the tensor's file (once), and checks that its range lies within.
  absl::Status resolve(const ::onnx::TensorProto &tensor);
  /// The tensor's bytes; it was resolved before.
  absl::StatusOr<std::string_view> bytes(const ::onnx::TensorProto &tensor) const;

  struct Entry {
    std::shared_ptr<const File> file;
    std::shared_ptr<const FileMapping> mapping;
  };
  const std::map<std::string, Entry> &files() const { return entries; } ///< by location

private:
  absl::StatusOr<Entry> open(const std::string &location) const;

  std::string folder;
  std::vector<std::string> modelFolders; ///< resolved
  std::vector<std::string> userRoots;    ///< resolved
  std::map<std::string, Entry> entries;
};

} // namespace tcc::onnx
