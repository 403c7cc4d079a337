// Devices by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/device.h"

namespace tcc::devices {

// "cuda" (the first GPU), "cuda:1", "cuda-sim", "null". One object per device and process, made when first asked for.
// Errors: InvalidArgument for a name that is none, otherwise why the device cannot be used. Thread-safe.
absl::StatusOr<std::shared_ptr<ComputeDevice>> DeviceFor(std::string_view name);

// Whether it is such a name, not whether there is the device.
absl::Status CheckDeviceName(std::string_view name);

// The device that runs plans for a target of this kind ("cuda", "cuda-sim"), if nobody chooses one. $TCC_DEVICE names
// another ("cuda:1"; "null", to see what the host side costs).
absl::StatusOr<std::shared_ptr<ComputeDevice>> DefaultDevice(const std::string& target_kind);

struct Listing {
  std::string name;  // "cuda:0"; "cuda" where it is not known how many there are
  Kind kind;
  absl::StatusOr<Properties> properties;  // or why it cannot be used
};
// All that there could be, but for the one that runs nothing. Starts none of them.
std::vector<Listing> ListDevices();

}  // namespace tcc::devices
