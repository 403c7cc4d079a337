// Packages for devices, run by way of the public API.
#pragma once

#include <stdlib.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/include/tcc/runtime.h"
#include "compiler/include/tcc/tcc.h"
#include "runtime/package.h"
#include "tests/devices/device_test.h"

namespace tcc::devices {

// Devices of this process are those of a driver that is none.
class DeviceSession : public testing::Test {
 protected:
  DeviceSession() {
    ::setenv("TCC_CUDA_DRIVER", TCC_FAKE_CUDA_DRIVER, 1);
    ::setenv("TCC_WORKER", TCC_TEST_WORKER, 1);
    // (The process's cache is opened once.)
    static const TempFolder cache;
    ::setenv("TCC_CACHE_DIR", (cache / "cache").c_str(), 1);
  }

  std::string Write(const std::vector<Specialisation>& specialisations, const char* name = "m.tcc") const {
    PackageBuilder builder;
    builder.specialisations = specialisations;
    const absl::Status written = builder.Write(folder_ / name);
    EXPECT_TRUE(written.ok()) << written;
    return folder_ / name;
  }
  // For the device of this name.
  static Specialisation Of(const std::string& device, const Plan& plan) {
    return device == "cuda-sim" ? ExampleOf("cuda-sim", "sim", plan) : ExampleOf("cuda", "sm_80", plan);
  }

  const TempFolder folder_;
};

using Call = std::function<absl::StatusOr<std::vector<Tensor>>(const std::vector<Tensor>&, const RunOptions&)>;

// A package, opened as a session of its own: by the compiler's API, or by the runtime's.
inline Call Open(const std::string& path, const std::string& device, bool by_compiler, Mode mode = Mode::kDefault) {
  if (by_compiler) {
    const absl::StatusOr<Callable> model = Compile(Load(path), {.mode = mode, .device = device});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return nullptr;
    return [model = *model](const std::vector<Tensor>& inputs, const RunOptions& options) {
      return model(inputs, options);
    };
  }
  const absl::StatusOr<LoadedPackage> package = LoadPackage(path, {.device = device});
  EXPECT_TRUE(package.ok()) << package.status();
  if (!package.ok()) return nullptr;
  return [package = *package](const std::vector<Tensor>& inputs, const RunOptions& options) {
    return package(inputs, options);
  };
}

inline std::string ErrorOf(const Call& call, const std::vector<Tensor>& inputs, const RunOptions& options = {}) {
  const auto outputs = call(inputs, options);
  return outputs.ok() ? "" : std::string(outputs.status().message());
}

// What is alive.
inline std::vector<int64_t> Alive(const ComputeDevice& device) {
  const Counters c = device.counters();
  return {c.allocations, c.bytes, c.streams, c.events, c.modules, c.graphs};
}

}  // namespace tcc::devices
