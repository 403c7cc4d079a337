// Runs the kernels of tests/cuda_device/kernels on the simulated device, and where there is a GPU on that.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/devices/device.h"
#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {

// The simulator, with kernels compiled with or without checks of their accesses; or a device behind the driver.
enum class Where : uint8_t { kPlain, kChecked, kGpu };
inline void PrintTo(Where where, std::ostream* out) {
  *out << (where == Where::kPlain ? "plain" : where == Where::kChecked ? "checked" : "gpu");
}

// The GPU of this machine, or what $TCC_DEVICE names in its place ("cuda-sim", to try this code); null: there is none.
devices::ComputeDevice* Gpu();

void Register(void* memory, size_t bytes);
void Unregister(void* memory);

// Memory that kernels are given: aligned as the driver's, and exactly as large as asked for. A GPU works on a copy.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count, T value = T()) : count_(count), data_(Allocate(count)) {
    for (size_t i = 0; i < count; ++i) data_[i] = value;
    Register(data_, count * sizeof(T));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    for (size_t i = 0; i < count_; ++i) data_[i] = values[i];
  }
  ~Buffer() {
    Unregister(data_);
    std::free(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* get() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return count_; }

 private:
  // With room for a fault of a kernel that is not checked.
  static T* Allocate(size_t count) {
    return static_cast<T*>(std::aligned_alloc(256, (count * sizeof(T) + 4096 + 255) / 256 * 256));
  }
  size_t count_;
  T* data_;
};

// The kernels of one file.
class Kernels {
 public:
  Kernels(const std::string& file, Where where);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  template <typename... Args>
  absl::Status RunWith(const std::string& name, Dim grid, Dim block, size_t shared_bytes, const LaunchOptions& options,
                       Args... args) {
    void* params[] = {&args..., nullptr};
    if (where_ == Where::kGpu) {
      const bool pointers[] = {std::is_pointer_v<Args>..., false};
      return RunOnGpu(name, grid, block, shared_bytes, params, pointers, sizeof...(args), {});
    }
    absl::StatusOr<Kernel> kernel = FindKernel(handle_, name);
    if (!kernel.ok()) return kernel.status();
    return Launch(*kernel, grid, block, shared_bytes, params, options);
  }
  // With tensor maps behind the arguments.
  template <typename... Args>
  absl::Status RunMapped(const std::string& name, Dim grid, Dim block, size_t shared_bytes,
                         const std::vector<devices::TensorMap>& maps, Args... args) {
    void* params[] = {&args..., nullptr};
    if (where_ == Where::kGpu) {
      const bool pointers[] = {std::is_pointer_v<Args>..., false};
      return RunOnGpu(name, grid, block, shared_bytes, params, pointers, sizeof...(args), maps);
    }
    return RunMappedOnSim(name, grid, block, shared_bytes, params, sizeof...(args), maps);
  }
  template <typename... Args>
  absl::Status Run(const std::string& name, Dim grid, Dim block, Args... args) {
    return RunWith(name, grid, block, 0, LaunchOptions(), args...);
  }

 private:
  // Pointers are those of Buffers: what they hold travels there and back.
  absl::Status RunOnGpu(const std::string& name, Dim grid, Dim block, size_t shared_bytes, void** params,
                        const bool* pointers, size_t count, const std::vector<devices::TensorMap>& maps);
  absl::Status RunMappedOnSim(const std::string& name, Dim grid, Dim block, size_t shared_bytes, void** params,
                              size_t count, const std::vector<devices::TensorMap>& maps);

  const std::string file_;
  const Where where_;
  void* handle_ = nullptr;                   // in the simulator
  devices::ModuleHandle* module_ = nullptr;  // on a GPU
};

// The line of kernels/FILE.cu that ends in "mark: MARK".
int LineOf(const std::string& file, const std::string& mark);
// The text of kernels/FILE.cu.
std::string TextOf(const std::string& file);

// Tests of kernels that are right run everywhere.
class DeviceTest : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kGpu && Gpu() == nullptr) GTEST_SKIP() << "no GPU here";
  }
};
#define TCC_DEVICE_TESTS(SUITE)                                                                             \
  INSTANTIATE_TEST_SUITE_P(Sim, SUITE, testing::Values(Where::kPlain, Where::kChecked),                     \
                           [](const auto& i) { return i.param == Where::kChecked ? "checked" : "plain"; }); \
  INSTANTIATE_TEST_SUITE_P(Gpu, SUITE, testing::Values(Where::kGpu), [](const auto& i) { return "gpu"; })

}  // namespace tcc::sim
