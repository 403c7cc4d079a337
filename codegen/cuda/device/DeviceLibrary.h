//===- DeviceLibrary.h - the headers that CUDA kernels include ---*- C++ -*-===//
//
// The files of codegen/cuda/device/tcc, embedded by the build, so that kernels compile wherever tcc runs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string_view>
#include <vector>

namespace tcc::codegen {

struct DeviceFile {
  std::string_view name; // as kernels include it: "tcc/device.cuh"
  std::string_view text;
};

/// All files, sorted by name. Also what only the simulated device includes ("tcc/sim.cuh", "tcc/sim_abi.h").
const std::vector<DeviceFile> &deviceLibrary();

/// Of all names and texts: changes whenever any of them does.
std::string_view deviceLibraryHash();

} // namespace tcc::codegen
