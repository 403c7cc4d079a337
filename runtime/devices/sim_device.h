// The simulated CUDA device: kernels run on the host, threads as fibers (sim/sim_api.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/devices/device.h"
#include "runtime/devices/sim/sim_abi.h"

namespace tcc::devices {

struct SimOptions {
  int64_t memory_bytes = 0;  // that can be allocated; 0: as much as there is
  int threads = 1;           // of the host, that run blocks (sim::LaunchOptions)
};
// Everything is done when a call returns; errors of kernels come out of Launch. Writes just outside of allocations are
// found by Synchronize and are an error there. Fresh memory is full of not-a-number.
std::shared_ptr<ComputeDevice> MakeSimDevice(const SimOptions& options = {});

// What kernels of the simulator take for a tensor map at `base`. InvalidArgument for what the driver would refuse, too
// (CUDA driver API, cuTensorMapEncodeTiled).
absl::StatusOr<TccSimTensorMap> EncodeForSim(const TensorMap& map, const void* base);

}  // namespace tcc::devices
