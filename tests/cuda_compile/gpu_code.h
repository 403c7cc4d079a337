// Kernels of a test, compiled for the GPU that it runs on.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/devices/device.h"

namespace tcc::devices {

// The text of a file below tests/: of the source tree that this was built from, or of $TCC_TEST_SOURCES, another
// checkout's tests/, where a build has been carried to another machine.
std::string TestSource(const std::string& file);

// The kernels of such a file, of which `symbol` is one, by NVRTC for this very GPU; each file is compiled once.
// Unavailable where there is no NVRTC. Not thread-safe.
absl::StatusOr<std::string> GpuCode(const ComputeDevice& gpu, const std::string& file, const std::string& symbol);

}  // namespace tcc::devices
