//===- SimCompiler.h - kernels for the simulated device -----------*- C++ -*-===//
#pragma once

#include <memory>
#include <string>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

class PrivateFolder;

/// clang++ as a child process, compiling the same texts as NVRTC against the host twin of the device library.
/// Thread-safe.
class SimCompiler {
public:
  /// `place`: the compiler, else $TCC_SIM_CXX, else clang++-19, ..., clang++ in $PATH. Errors: none there, or one that
  /// is not clang. Asks it for its version, nothing else.
  static llvm::Expected<std::unique_ptr<SimCompiler>> create(llvm::StringRef place,
                                                             llvm::ArrayRef<DeviceHeader> headers, bool checked);
  ~SimCompiler();
  SimCompiler(const SimCompiler &) = delete;
  SimCompiler &operator=(const SimCompiler &) = delete;

  /// "clang version 19.1.7 (3)": with the flags, what the code depends on beside the texts.
  const std::string &version() const { return compilerVersion; }
  const std::vector<std::string> &flags() const { return compilerFlags; }

  struct Result {
    bool compiled = false;
    std::string bytes; // a shared object
    std::string log;
  };
  /// Compiles a text called `name` in messages (a plain file name). The first call writes the headers to a folder of
  /// its own, which goes with this object, and compiles them once (`precompiledHeader`). Errors: the folder cannot be
  /// written, the compiler cannot be started or crashes.
  llvm::Expected<Result> compile(const KernelSource &kernel, llvm::StringRef name, bool precompiledHeader);

private:
  SimCompiler() = default;
  llvm::Expected<const PrivateFolder *> prepare();
  const std::string &precompile(const PrivateFolder &folder);

  std::string compiler;
  std::string compilerVersion;
  std::vector<std::string> compilerFlags;
  std::vector<DeviceHeader> headers;
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tcc::codegen
