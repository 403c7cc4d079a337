// What calls hold on a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/device.h"
#include "runtime/execution/arena.h"
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

  devices::ComputeDevice& device() const { return *device_; }

  // Row-major, uninitialised.
  absl::StatusOr<Tensor> Allocate(DType dtype, const Dims& dims);
  // Memory that the caller gives back to the device. Where there is not so much, what the pool keeps goes first.
  absl::StatusOr<void*> AllocateMemory(int64_t bytes);
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

// What contexts whose calls never run at the same time share on a device: a stream, memory slots, fresh values, and
// places of recordings, so that recorded plans of many extents, and of all specialisations of a model, together take
// the memory of the largest. One call at a time uses it; bytes() may be asked by any thread.
class DeviceLane {
 public:
  explicit DeviceLane(std::shared_ptr<devices::ComputeDevice> device);
  ~DeviceLane();
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  // The stream, made when it is first asked for.
  absl::StatusOr<devices::StreamHandle*> Stream();
  // Memory of a value of a recording, which has `taken` already: another recording may use it in its calls.
  absl::StatusOr<Tensor> Place(DType dtype, const Dims& dims, std::vector<const void*>* taken);
  // Of slots.
  int64_t bytes() const { return arena.bytes(); }

  const std::shared_ptr<devices::ComputeDevice> device;
  const std::shared_ptr<DevicePool> pool;
  Arena arena;

 private:
  devices::StreamHandle* stream_ = nullptr;
  std::vector<Tensor> places_;  // bytes
};

// What a context holds besides. Made by the first call that needs it.
struct DeviceState {
  explicit DeviceState(std::shared_ptr<DeviceLane> lane)
      : lane(std::move(lane)), device(this->lane->device), pool(this->lane->pool) {}
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  // A stream, and `words` error words; space for `params` parameters.
  absl::Status Start(size_t words, size_t params);
  // Zeros what kernels have left in error words and counters, if need be.
  absl::Status Clear(devices::StreamHandle* stream);
  // At least `count` counters, all zero: each launch leaves them so. Where there are too few, there will be new ones
  // besides, since recordings and what is under way know those that there are.
  absl::StatusOr<int32_t*> Counters(int64_t count, devices::StreamHandle* stream);

  const std::shared_ptr<DeviceLane> lane;
  const std::shared_ptr<devices::ComputeDevice> device;
  const std::shared_ptr<DevicePool> pool;
  devices::StreamHandle* stream = nullptr;               // of the lane
  devices::EventHandle* events[2] = {nullptr, nullptr};  // for profiles, made when needed
  int64_t* error_words = nullptr;                        // on the device
  std::vector<int64_t> errors;                           // the same on the host
  struct CounterBlock {
    int32_t* memory;
    int64_t count;
  };
  std::vector<devices::TensorMap> tensor_maps;  // of the launch that is being made
  std::vector<CounterBlock> counters;           // on the device, the largest last
  bool is_clear = false;                        // error words and counters are zero
  bool started = false;
  // Of the launch being made: values, and their addresses.
  std::vector<int64_t> values;
  std::vector<void*> params;
  std::vector<devices::MemoryRange> ranges;  // of the buffers, on a device that checks accesses
};

}  // namespace tcc
