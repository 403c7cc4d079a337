//===- PrivateFolder.h - a temporary folder of this process --------*- C++ -*-===//
#pragma once

#include <memory>
#include <string>

#include "runtime/file_util.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// A folder below $TMPDIR that only this user may enter, removed with the object. One of a process that was killed goes
/// with the next folder of that name that anybody makes: each is locked for as long as its process lives.
class PrivateFolder {
public:
  /// `name`: the folder is called NAME-XXXXXX.
  static llvm::Expected<std::unique_ptr<PrivateFolder>> create(llvm::StringRef name);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder &) = delete;
  PrivateFolder &operator=(const PrivateFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  PrivateFolder() = default;
  std::string folder;
  FileDescriptor lock;
};

} // namespace tcc::codegen
