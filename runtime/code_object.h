// The machine code of a package: a shared object in memory, loaded into the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/kernel_abi.h"

namespace tcc {

// Unloaded when the last reference goes. Thread-safe.
class CodeObject {
 public:
  // Loads an ELF shared object for this machine from its bytes; `name` is for debuggers and profilers. The bytes are
  // copied to anonymous memory first, so that they may come from a file system mounted noexec, or from one that
  // changes. Where the kernel has no executable memory files, a temporary file below $TMPDIR is tried. Loading runs the
  // object's own code where it has constructors: only for bytes that were verified.
  static absl::StatusOr<std::shared_ptr<const CodeObject>> Load(std::string_view bytes, const std::string& name);

  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  // NotFound, with the name, where the object does not export it.
  absl::StatusOr<TccKernelFunction> Function(const std::string& name) const;

  // What dlopen returned.
  void* handle() const { return handle_; }

 private:
  explicit CodeObject(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace tcc
