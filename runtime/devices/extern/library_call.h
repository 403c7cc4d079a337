// A call of a library that takes the place of a kernel: what a binary called "cublaslt" is loaded as.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/device.h"

namespace tcc::devices {

// How well the binary `arch` suits a device of this kind: above all code where it is a library that is there, 0 where
// it is none, or not there (`perf_hints` says so, once).
int LibrarySuits(std::string_view arch, Kind kind);

// The version of a library that can be used ("cuBLASLt 13.0"), or why there is none. On GPUs cuBLASLt as Library::Load
// finds it. On the simulated device only what $TCC_CUBLASLT_SIM names, which has to work on memory of the host: for
// tests.
absl::StatusOr<std::string> LibraryVersion(std::string_view arch, Kind kind);

// Thread-safe.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // The parameters of the launch, and the stream as the library knows it. The device must be current.
  virtual absl::Status Run(void** params, void* stream) = 0;
};

// Whether bytes of a binary are a call, not code.
bool IsLibraryCall(std::string_view bytes);
// `name` is for messages. Looks for a way to do it: FailedPrecondition where the library knows none.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(std::string_view bytes, Kind kind,
                                                             const std::string& name);

}  // namespace tcc::devices
