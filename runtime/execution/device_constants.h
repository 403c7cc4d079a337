// Constants of plans in the memory of a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/devices/device.h"

namespace tcc {

// Freed with the last plan that has it. Immutable, thread-safe.
class DeviceConstants {
 public:
  // Parts of a package's constants: offset -> bytes.
  using Parts = std::map<int64_t, int64_t>;

  // The parts on the device, each at a multiple of kDeviceAlignment, all in one allocation. They are there once for all
  // plans with the same parts of what has the same `identity` (specialisations of a model); copied from `base` if they
  // are not there yet. ResourceExhausted says nothing about the plan.
  static absl::StatusOr<std::shared_ptr<const DeviceConstants>> Get(
      const std::shared_ptr<devices::ComputeDevice>& device, const std::string& identity, const char* base,
      const Parts& parts);
  // What it takes.
  static int64_t BytesOf(const Parts& parts);

  ~DeviceConstants();
  DeviceConstants(const DeviceConstants&) = delete;
  DeviceConstants& operator=(const DeviceConstants&) = delete;

  // Of a part, by its offset.
  char* at(int64_t offset) const { return memory_ + places_.at(offset); }
  int64_t bytes() const { return bytes_; }

 private:
  explicit DeviceConstants(std::shared_ptr<devices::ComputeDevice> device) : device_(std::move(device)) {}
  absl::Status Copy(const char* base, const Parts& parts);

  const std::shared_ptr<devices::ComputeDevice> device_;
  char* memory_ = nullptr;
  int64_t bytes_ = 0;
  std::map<int64_t, int64_t> places_;  // by offset
};

}  // namespace tcc
