// A call of a library that takes the place of a kernel: what a binary called "cublaslt" or "cudnn" is loaded as.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/devices/device.h"
#include "runtime/devices/extern/gemm_descriptor.h"

namespace tcc::devices {

// How well the binary `arch` suits a device of this kind: above all code where it is a library that is there, 0 where
// it is none, or not there (`perf_hints` says so, once).
int LibrarySuits(std::string_view arch, Kind kind);

// The version of a library that can be used ("cuBLASLt 13.0", "cuDNN 9.26.0"), or why there is none. On GPUs what
// cublaslt::Library::Load and cudnn::Library::Load find. On the simulated device only what $TCC_CUBLASLT_SIM and
// $TCC_CUDNN_SIM name, which have to work on memory of the host: for tests.
absl::StatusOr<std::string> LibraryVersion(std::string_view arch, Kind kind);

// The handles of the libraries on one device, made when first asked for, which takes long, and takes memory of the
// device. Thread-safe. Destroyed with the device current, after all calls.
class LibraryHandles;
std::shared_ptr<LibraryHandles> MakeLibraryHandles();

// Thread-safe.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // The parameters of the launch, where they are known the memory of its buffers, and the stream as the library knows
  // it. The device must be current. InvalidArgument where the launch gives less than the call uses. Can be captured:
  // nothing is allocated and nothing waits.
  absl::Status Run(absl::Span<void* const> params, absl::Span<const MemoryRange> buffers, void* stream);

 protected:
  LibraryCall(std::string name, const std::vector<UsedParameter>& used);
  virtual absl::Status DoRun(absl::Span<void* const> params, void* stream) = 0;
  const std::string& name() const { return name_; }

 private:
  struct Used {
    size_t parameter;
    int64_t bytes;
  };
  std::string name_;
  std::vector<Used> used_;
};

// Which library does the call that bytes of a binary are; empty for code.
std::string_view LibraryOf(std::string_view bytes);
inline bool IsLibraryCall(std::string_view bytes) { return !LibraryOf(bytes).empty(); }
// `name` is for messages. Looks for a way to do it: FailedPrecondition where the library knows none. The device must be
// current, and `handles` its.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(std::string_view bytes, Kind kind,
                                                             const std::shared_ptr<LibraryHandles>& handles,
                                                             const std::string& name);

}  // namespace tcc::devices
