// Runs the kernels of tests/cuda_device/kernels on the simulated device.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {

// Device memory: aligned as the driver's, and exactly as large as asked for.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count, T value = T()) : count_(count), data_(Allocate(count)) {
    for (size_t i = 0; i < count; ++i) data_[i] = value;
    RegisterMemory(data_, count * sizeof(T));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    for (size_t i = 0; i < count_; ++i) data_[i] = values[i];
  }
  ~Buffer() {
    UnregisterMemory(data_);
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

// The kernels of one file, compiled with or without checks of their accesses.
class Kernels {
 public:
  Kernels(const std::string& file, bool checked);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  template <typename... Args>
  absl::Status RunWith(const std::string& name, Dim grid, Dim block, size_t shared_bytes, const LaunchOptions& options,
                       Args... args) {
    absl::StatusOr<Kernel> kernel = FindKernel(handle_, name);
    if (!kernel.ok()) return kernel.status();
    void* params[] = {&args..., nullptr};
    return Launch(*kernel, grid, block, shared_bytes, params, options);
  }
  template <typename... Args>
  absl::Status Run(const std::string& name, Dim grid, Dim block, Args... args) {
    return RunWith(name, grid, block, 0, LaunchOptions(), args...);
  }

 private:
  void* handle_;
};

// The line of kernels/FILE.cu that ends in "mark: MARK".
int LineOf(const std::string& file, const std::string& mark);
// The text of kernels/FILE.cu.
std::string TextOf(const std::string& file);

// Tests of kernels that are right run both ways.
class DeviceTest : public testing::TestWithParam<bool> {};
#define TCC_DEVICE_TESTS(SUITE) \
  INSTANTIATE_TEST_SUITE_P(Sim, SUITE, testing::Bool(), [](const auto& i) { return i.param ? "checked" : "plain"; })

}  // namespace tcc::sim
