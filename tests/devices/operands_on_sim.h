// Operands of a library's call, run in place of a kernel on the simulated device: the parameters of the launch.
#pragma once

#include <string>
#include <vector>

#include "runtime/dispatch.h"
#include "tests/devices/device_test.h"

namespace tcc::devices {

struct OperandsOnSim {
  static constexpr int64_t kCount = 4096;  // elements of each
  static constexpr int kParameters = 6;    // 2 is the result

  explicit OperandsOnSim(DType element) {
    for (int i = 0; i < kParameters; ++i) {
      Tensor tensor = *Tensor::Allocate(element, {kCount});
      for (int64_t j = 0; j < kCount; ++j) {
        StoreDouble(tensor.data(), element, j, static_cast<double>((j * 7 + i * 13) % 11 - 5) / 4);
      }
      host.push_back(std::move(tensor));
    }
    result = *Tensor::Allocate(element, {kCount});
  }

  // The error, or "". `times`: how often it is run.
  std::string Run(const std::string& call, int times = 1) {
    const auto device = MakeSimDevice();
    StreamHandle* const stream = *device->CreateStream();
    const auto bytes = static_cast<int64_t>(result.bytes());
    std::vector<void*> memory, params;
    std::vector<MemoryRange> ranges;
    for (const Tensor& tensor : host) {
      memory.push_back(*device->Allocate(bytes));
      ranges.push_back({memory.back(), bytes});
      EXPECT_TRUE(device->CopyToDevice(memory.back(), tensor.data(), bytes, stream).ok());
    }
    for (void*& place : memory) params.push_back(&place);
    const auto module = device->LoadModule(call, "product");
    absl::Status status = module.status();
    if (module.ok()) {
      LaunchShape shape;
      shape.buffers = ranges;
      FunctionHandle* const function = *device->Function(*module, "any");
      for (int i = 0; i < times && status.ok(); ++i) {
        status = device->Launch(function, shape, absl::MakeSpan(params), stream);
      }
      EXPECT_TRUE(device->CopyToHost(result.data(), memory[2], bytes, stream).ok());
      EXPECT_TRUE(device->Synchronize(stream).ok());
      device->UnloadModule(*module);
    }
    for (void* place : memory) device->Free(place, bytes);
    device->DestroyStream(stream);
    return std::string(status.message());
  }

  std::vector<Tensor> host;
  Tensor result;
};

}  // namespace tcc::devices
