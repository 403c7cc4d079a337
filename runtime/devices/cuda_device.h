// GPUs, through the CUDA driver.
#pragma once

#include <memory>
#include <string>

#include "runtime/devices/device.h"

namespace tcc::devices {

// The GPU `index` of those the driver shows. Shares the primary context with whatever else of the process uses the GPU
// (PyTorch); each call makes it current on its thread and restores what was. `library`: see cuda::Driver::Load.
absl::StatusOr<std::shared_ptr<ComputeDevice>> MakeCudaDevice(int index, const std::string& library = "");
// Of that GPU, without starting it.
absl::StatusOr<Properties> DescribeCudaDevice(int index, const std::string& library = "");
// How many there are.
absl::StatusOr<int> CountCudaDevices(const std::string& library = "");

}  // namespace tcc::devices
