//===- KernelCompiler.h - kernel source texts to binaries --------*- C++ -*-===//
//
// CUDA C++ texts are compiled by NVRTC (found at run time, see CudaFiles.h) to cubins, or to PTX for GPUs newer than
// this NVRTC; for the simulated device, by clang++ to shared objects of the host. Each kernel is one text, compiled and
// cached by itself, so that models share kernels; nothing is loaded or started when the cache has all of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc {
class ArtifactCache;
}

namespace tcc::codegen {

/// One kernel as emitted: a text that defines `extern "C" __global__ void SYMBOL(...)` and includes headers of the
/// device library ("tcc/device.cuh") and nothing else.
struct KernelSource {
  std::string symbol;
  std::string text;
  std::vector<std::string> sources; // the ops it was made from, for people: "Relu 'layer1/relu'"
  /// Calls of libraries that do the same as the kernel, where they are: name -> what a package has among the kernel's
  /// binaries (runtime/devices/extern). The text has to differ from that of a kernel without them.
  std::map<std::string, std::string> libraries = {};
};

/// A file of the device library, as the texts include it.
struct DeviceHeader {
  llvm::StringRef name; // "tcc/device.cuh"
  llvm::StringRef text;
};

struct CompileOptions {
  /// NVRTC's --use_fast_math: approximate division, square roots and functions, denormals are zero.
  bool fastMath = false;
  /// Line numbers of the text in the binary, for profilers and compute-sanitizer. For cuda-sim always.
  bool lineInfo = false;
  /// Kernels compiled at once; 0: as many as the process may use processors.
  unsigned threads = 0;

  /// NVRTC: the library or a folder that holds it. Empty: $TCC_NVRTC, then where CudaFiles.h says.
  std::string nvrtc;
  /// Folder with cuda_fp16.h and the headers it includes, for texts that include those (the device library of tcc does
  /// not). Empty: $TCC_CUDA_INCLUDE, then where CudaFiles.h says.
  std::string cudaInclude;
  /// clang++ for the simulated device. Empty: $TCC_SIM_CXX, else clang++-19 or clang++ in $PATH.
  std::string simCompiler;

  /// Code for the simulated device reports its memory accesses, so that its checks find what is wrong with them
  /// (runtime/devices/sim/sim_api.h), and is ten to fifty times slower. Unset: where $TCC_SIM_CHECKED is 1.
  std::optional<bool> simChecked;

  /// A kernel that compiles with warnings is an error, for tests; else the log has them (topic "output_code"):
  /// generated text divides by what a model divides by, and no model is wrong for that. Unset: where
  /// $TCC_KERNEL_WARNINGS is "error".
  std::optional<bool> warningsAreErrors;

  /// Files that the texts include. Empty: the device library of tcc.
  llvm::ArrayRef<DeviceHeader> deviceLibrary;

  /// Where compiled kernels are kept, by their text, the options, the compiler's version and the device library.
  /// Null: nowhere.
  std::shared_ptr<ArtifactCache> cache;
  /// How long to wait for another process that compiles the same kernel; 0: until it is done or dies.
  double cacheWaitSeconds = 120;

  /// Called with the number of kernels that are done, and of all. From any thread, one call at a time.
  std::function<void(size_t done, size_t total)> progress;
};

/// What a kernel takes of a multiprocessor, as the assembler (ptxas) says. Bytes; per thread unless said otherwise.
struct KernelResources {
  int registers = 0;
  int64_t spillStores = 0;
  int64_t spillLoads = 0;
  int64_t stack = 0;
  int64_t sharedBytes = 0;   // static, per block
  int64_t constantBytes = 0; // per kernel
  int maxThreads = 0;        // of a block, from __launch_bounds__; 0: not bounded
};

struct KernelBinary {
  std::string symbol;
  std::string arch;                         // as asked for
  std::string bytes;                        // cubin, PTX text without its final zero, or ELF shared object
  std::optional<KernelResources> resources; // of cubins
  bool cached = false;                      // found in the cache, not compiled
};

/// Thread-safe: any number of calls at a time.
class KernelCompiler {
public:
  explicit KernelCompiler(CompileOptions options);
  ~KernelCompiler();
  KernelCompiler(const KernelCompiler &) = delete;
  KernelCompiler &operator=(const KernelCompiler &) = delete;

  /// Compiles for one architecture: "sm_80", "sm_90a" (cubin), "compute_90" (PTX, which drivers compile for GPUs of
  /// that capability and newer ones), "sim" (shared object). Binaries in the order of the kernels; equal texts are
  /// compiled once.
  /// Errors: no NVRTC or clang, no CUDA headers (where it was looked for, which package brings them), an architecture
  /// that this NVRTC does not know (those that it knows), a kernel that does not compile: its symbol, its source ops,
  /// each message with the line of the text. Of several broken kernels the first ones are shown, and the number.
  llvm::Expected<std::vector<KernelBinary>> compile(llvm::ArrayRef<KernelSource> kernels, llvm::StringRef arch);

  /// The best that this NVRTC can do for GPUs of a compute capability (major * 10 + minor): "sm_80", from 9.0 on with
  /// the instructions of that very architecture ("sm_90a"), and for GPUs it does not know PTX of the newest
  /// architecture that it does and that is not newer than the GPU ("compute_120"). Loads NVRTC.
  llvm::Expected<std::string> bestArch(int computeCapability);

  /// What compiles for an architecture, for people and for keys: "NVRTC 13.0.88", "clang 19.1.7".
  llvm::Expected<std::string> compilerVersion(llvm::StringRef arch);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The compute capability (90) of "sm_90", "sm_90a" or "compute_90"; 0 for what is neither.
int computeCapabilityOf(llvm::StringRef arch);

} // namespace tcc::codegen
