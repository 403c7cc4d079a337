//===- Nvrtc.h - NVIDIA's run-time compiler, loaded at run time --*- C++ -*-===//
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

/// libnvrtc, opened with dlopen: tcc is built without CUDA. Thread-safe. nvrtcCompileProgram runs concurrently in
/// threads (measured with 12.9 to 13.2: threads wait for the processor, not for each other).
class Nvrtc {
public:
  /// One for each file in a process: it stays loaded. Errors: not a library, too old (12.0 is needed), functions
  /// missing.
  static llvm::Expected<const Nvrtc *> load(const std::string &file);

  struct Result {
    bool compiled = false;
    std::string bytes;
    std::string log;   // messages of the compiler and of ptxas, with -v's lines about resources
    std::string error; // NVRTC's name for what happened, "NVRTC_ERROR_COMPILATION"
  };
  /// Compiles a text called `name` in messages; `options` as nvcc has them, the architecture among them. Gives a cubin,
  /// or PTX where the architecture is a virtual one. `headerFolder`: what the text includes first is compiled once in
  /// this process and kept in this folder (empty: it is not); used where this NVRTC can, and the result does not depend
  /// on it.
  Result compile(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<DeviceHeader> headers,
                 llvm::ArrayRef<std::string> options, bool cubin, llvm::StringRef headerFolder) const;

  const std::string &file() const { return path; }
  int major() const { return versionMajor; }
  int minor() const { return versionMinor; }
  std::string version() const; // "NVRTC 13.0"
  /// Compute capabilities it compiles for, ascending: 75, 80, ...
  const std::vector<int> &architectures() const { return archs; }

private:
  Nvrtc() = default;
  llvm::Error open(const std::string &file);

  // NVRTC's C interface, stable since 11.2; what is newer may be null.
  struct Functions {
    const char *(*getErrorString)(int) = nullptr;
    int (*version)(int *, int *) = nullptr;
    int (*getNumSupportedArchs)(int *) = nullptr;
    int (*getSupportedArchs)(int *) = nullptr;
    int (*createProgram)(void **, const char *, const char *, int, const char *const *, const char *const *) = nullptr;
    int (*destroyProgram)(void **) = nullptr;
    int (*compileProgram)(void *, int, const char *const *) = nullptr;
    int (*getPTXSize)(void *, size_t *) = nullptr;
    int (*getPTX)(void *, char *) = nullptr;
    int (*getCUBINSize)(void *, size_t *) = nullptr;
    int (*getCUBIN)(void *, char *) = nullptr;
    int (*getProgramLogSize)(void *, size_t *) = nullptr;
    int (*getProgramLog)(void *, char *) = nullptr;
  };
  Functions api;
  std::string path;
  int versionMajor = 0, versionMinor = 0;
  std::vector<int> archs;
};

} // namespace tcc::codegen
