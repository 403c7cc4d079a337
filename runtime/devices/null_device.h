// A device that runs nothing: launches are counted, memory is the host's. For what the executor itself costs, and for
// errors that no real device makes on demand.
#pragma once

#include <memory>

#include "runtime/devices/device.h"

namespace tcc::devices {

struct NullOptions {
  int64_t memory_bytes = 0;  // that can be allocated; 0: as much as there is
  int compute_capability = 90;
};
// Takes code for any architecture, and finds every function in it.
std::shared_ptr<ComputeDevice> MakeNullDevice(const NullOptions& options = {});

}  // namespace tcc::devices
