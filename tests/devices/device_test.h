// Devices of all kinds, and the kernels of kernels.cu on them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/devices/cuda_device.h"
#include "runtime/devices/device.h"
#include "runtime/devices/images.h"
#include "runtime/devices/null_device.h"
#include "runtime/devices/registry.h"
#include "runtime/devices/sim_device.h"
#include "runtime/executor.h"
#include "runtime/package.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::devices {

// "null", "cuda-sim", "fake-cuda" (the CUDA device on the driver of fake_cuda_driver.cpp), "cuda" (a GPU). One of a
// test's own, but for GPUs, so that its counters start at zero; null where there is none.
inline std::shared_ptr<ComputeDevice> Make(const std::string& kind, int64_t memory_bytes = 0) {
  if (kind == "null") return MakeNullDevice({memory_bytes});
  if (kind == "cuda-sim") return MakeSimDevice({memory_bytes});
  const auto device = MakeCudaDevice(0, kind == "fake-cuda" ? TCC_FAKE_CUDA_DRIVER : "");
  EXPECT_TRUE(device.ok() || kind == "cuda") << device.status();
  return device.ok() ? *device : nullptr;
}

// Whether kernels do what they say.
inline bool Computes(const ComputeDevice& device) { return device.kind() == Kind::kCudaSim; }

// The images of kernels.cu: the same object for all of them. `checked`: one that reports its accesses.
inline std::vector<KernelImageView> Images(bool checked = false) {
  static const auto* const plain = new std::string(ReadFile(TCC_TEST_KERNELS));
  static const auto* const reporting = new std::string(ReadFile(TCC_TEST_CHECKED_KERNELS));
  const std::string* const object = checked ? reporting : plain;
  std::vector<KernelImageView> images;
  for (const char* symbol : {"add", "scale", "gather", "overrun", "sum_parts", "load_tile"}) {
    KernelImageView image;
    image.symbol = symbol;
    image.source = "// ...";
    image.binaries = {{"sim", *object}, {"sm_80", "fake"}};
    images.push_back(image);
  }
  return images;
}

inline Tensor Vector(const std::vector<float>& values) { return Tensor::Vector<float>(values); }
inline std::vector<float> Floats(const Tensor& tensor) {
  const Tensor flat = *tensor.Contiguous();
  return {flat.data_as<float>(), flat.data_as<float>() + flat.num_elements()};
}

inline absl::StatusOr<std::shared_ptr<const PreparedPlan>> PrepareOn(std::shared_ptr<ComputeDevice> device, Plan plan,
                                                                     std::string_view constants = {}) {
  PreparedPlan::Options options;
  options.device = std::move(device);
  options.images = Images();
  return PreparedPlan::Create(std::move(plan), nullptr, constants, nullptr, options);
}

inline plan::DeviceLaunch LaunchOf(int32_t function, std::vector<ValueId> buffers, std::vector<Operand> scalars,
                                   const std::string& name) {
  plan::DeviceLaunch launch;
  launch.function = function;
  launch.buffers = std::move(buffers);
  launch.scalars = std::move(scalars);
  launch.grid = {Operand::Imm(4), Operand::Imm(1), Operand::Imm(1)};
  launch.block = {32, 1, 1};
  launch.name = name;
  return launch;
}

// y = (a + b) * 3 over a symbolic extent n (at most 128): values a 0, b 1, on the device 2, 3, sum 4, product 5, y 6.
inline Plan AddScale() {
  Plan plan;
  plan.num_values = 7;
  plan.num_registers = 2;
  plan.inputs = {0, 1};
  plan.outputs = {6};
  plan.symbol_registers = {0};
  plan.slot_bytes = {Operand::Reg(1)};
  plan.functions = {"add", "scale"};
  const Operand n = Operand::Reg(0);
  plan.body.instructions = {plan::Compute{1, IntOp::kMul, n, Operand::Imm(4)},
                            plan::Transfer{2, 0, Space::kDevice},
                            plan::Transfer{3, 1, Space::kDevice},
                            plan::Allocate{4, DType::kF32, {n}, 0, 0, kNoValue, Space::kDevice},
                            LaunchOf(0, {4, 2, 3}, {n}, "node 'a' (Add)"),
                            plan::Allocate{5, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice},
                            LaunchOf(1, {5, 4}, {n, Operand::Imm(3)}, "node 'm' (Mul)"),
                            plan::Transfer{6, 5, Space::kHost}};
  return plan;
}

// A specialisation of a package that runs a plan with two inputs a, b and an output y, all f32[n], n up to 128.
inline Specialisation ExampleOf(const std::string& kind, const std::string& arch, const Plan& plan) {
  Specialisation one;
  one.target = {kind, arch, "", {}};
  one.signature.symbols = {{"n", 1, 128, 1}};
  one.signature.inputs = {{"a", DType::kF32, {Extent::Of(0)}}, {"b", DType::kF32, {Extent::Of(0)}}};
  one.signature.outputs = {{"y", DType::kF32, {Extent::Of(0)}}};
  one.plan = plan;
  for (const KernelImageView& image : Images()) {
    one.images.push_back({image.symbol, std::string(image.source), {}});
    for (const auto& [name, bytes] : image.binaries) one.images.back().binaries[name] = bytes;
  }
  return one;
}

}  // namespace tcc::devices
