// What an execution context holds on a device, besides the slots of its plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/device.h"
#include "runtime/tensor.h"

namespace tcc {

// Memory for fresh values, kept when they go: allocations wait for the device. A block is handed out again at once, so
// that what used it last must be on the same stream, or be done. Thread-safe; lives as long as its blocks.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  explicit DevicePool(std::shared_ptr<devices::ComputeDevice> device) : device_(std::move(device)) {}
  ~DevicePool() { Trim(); }
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Row-major, uninitialised.
  absl::StatusOr<Tensor> Allocate(DType dtype, const Dims& dims);
  // Gives back what nobody uses: whether there was anything.
  bool Trim();
  int64_t bytes() const;  // of all blocks, used and free

 private:
  void Return(void* memory, int64_t bytes);

  const std::shared_ptr<devices::ComputeDevice> device_;
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> free_;  // by size; guarded by mutex_
  int64_t bytes_ = 0;                   // guarded by mutex_
};

// Made by the first call that needs it.
struct DeviceState {
  explicit DeviceState(std::shared_ptr<devices::ComputeDevice> device)
      : device(std::move(device)), pool(std::make_shared<DevicePool>(this->device)) {}
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  // A stream, and `words` error words, all zero; space for `params` parameters.
  absl::Status Start(size_t words, size_t params);

  const std::shared_ptr<devices::ComputeDevice> device;
  const std::shared_ptr<DevicePool> pool;
  devices::StreamHandle* stream = nullptr;
  devices::EventHandle* events[2] = {nullptr, nullptr};  // for profiles, made when needed
  int64_t* error_words = nullptr;                        // on the device
  std::vector<int64_t> errors;                           // the same on the host
  bool words_are_zero = false;
  bool started = false;
  // Of the launch being made: values, and their addresses.
  std::vector<int64_t> values;
  std::vector<void*> params;
  std::vector<devices::MemoryRange> ranges;  // of the buffers, on a device that checks accesses
};

}  // namespace tcc
