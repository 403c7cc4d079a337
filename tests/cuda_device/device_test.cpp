#include "tests/cuda_device/device_test.h"

#include <dlfcn.h>

#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "absl/cleanup/cleanup.h"
#include "runtime/devices/registry.h"
#include "runtime/devices/sim/sim_abi.h"
#include "runtime/devices/sim_device.h"
#include "runtime/status.h"
#include "tests/cuda_compile/gpu_code.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::sim {
namespace {

std::map<void*, size_t>& Buffers() {
  static auto* const buffers = new std::map<void*, size_t>;
  return *buffers;
}

std::string ObjectOf(const std::string& file, bool checked) {
  return std::string(TCC_KERNEL_OBJECTS) + "/" + file + (checked ? ".checked.so" : ".plain.so");
}

}  // namespace

void Register(void* memory, size_t bytes) {
  RegisterMemory(memory, bytes);
  Buffers()[memory] = bytes;
}

void Unregister(void* memory) {
  UnregisterMemory(memory);
  Buffers().erase(memory);
}

devices::ComputeDevice* Gpu() {
  static const auto* const device =
      new absl::StatusOr<std::shared_ptr<devices::ComputeDevice>>(devices::DefaultDevice("cuda"));
  return device->ok() ? device->value().get() : nullptr;
}

Kernels::Kernels(const std::string& file, Where where) : file_(file), where_(where) {
  if (where == Where::kGpu) return;  // loaded when something runs
  handle_ = dlopen(ObjectOf(file, where == Where::kChecked).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle_, nullptr) << dlerror();
}

Kernels::~Kernels() {
  if (module_ != nullptr) Gpu()->UnloadModule(module_);
  if (handle_ != nullptr) dlclose(handle_);
}

absl::Status Kernels::RunOnGpu(const std::string& name, Dim grid, Dim block, size_t shared_bytes, void** params,
                               const bool* pointers, size_t count, const std::vector<devices::TensorMap>& maps) {
  devices::ComputeDevice& gpu = *Gpu();
  if (module_ == nullptr) {
    TCC_ASSIGN_OR_RETURN(const std::string code,
                         gpu.kind() == devices::Kind::kCudaSim
                             ? ReadFile(ObjectOf(file_, false))
                             : devices::GpuCode(gpu, "cuda_device/kernels/" + file_ + ".cu", name));
    TCC_ASSIGN_OR_RETURN(module_, gpu.LoadModule(code, file_));
  }
  TCC_ASSIGN_OR_RETURN(devices::FunctionHandle* const function, gpu.Function(module_, name));
  TCC_ASSIGN_OR_RETURN(devices::StreamHandle* const stream, gpu.CreateStream());
  struct Copy {
    void* host;
    void* device;
    int64_t bytes;
  };
  std::vector<Copy> copies;
  copies.reserve(count);  // params point to them
  const absl::Cleanup release = [&] {
    for (const Copy& copy : copies) gpu.Free(copy.device, copy.bytes);
    gpu.DestroyStream(stream);
  };
  std::vector<void*> arguments(params, params + count);
  for (size_t i = 0; i < count; ++i) {
    if (!pointers[i]) continue;
    void* const host = *static_cast<void**>(params[i]);
    const auto found = Buffers().find(host);
    if (found == Buffers().end()) return absl::InvalidArgumentError("a pointer that is no Buffer's");
    const auto bytes = static_cast<int64_t>(found->second);
    TCC_ASSIGN_OR_RETURN(void* const memory, gpu.Allocate(bytes));
    copies.push_back({host, memory, bytes});
    TCC_RETURN_IF_ERROR(gpu.CopyToDevice(memory, host, bytes, stream));
    arguments[i] = &copies.back().device;
  }
  devices::LaunchShape shape;
  shape.grid = {grid.x, grid.y, grid.z};
  shape.block = {static_cast<int32_t>(block.x), static_cast<int32_t>(block.y), static_cast<int32_t>(block.z)};
  shape.shared_bytes = static_cast<int64_t>(shared_bytes);
  shape.tensor_maps = maps;
  TCC_RETURN_IF_ERROR(gpu.Launch(function, shape, absl::MakeSpan(arguments), stream));
  for (const Copy& copy : copies) TCC_RETURN_IF_ERROR(gpu.CopyToHost(copy.host, copy.device, copy.bytes, stream));
  return gpu.Synchronize(stream);
}

absl::Status Kernels::RunMappedOnSim(const std::string& name, Dim grid, Dim block, size_t shared_bytes, void** params,
                                     size_t count, const std::vector<devices::TensorMap>& maps) {
  std::vector<TccSimTensorMap> encoded(maps.size());
  std::vector<void*> all(params, params + count);
  for (size_t i = 0; i < maps.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(encoded[i], devices::EncodeForSim(maps[i], *static_cast<void**>(params[maps[i].param])));
    all.push_back(&encoded[i]);
  }
  TCC_ASSIGN_OR_RETURN(const Kernel kernel, FindKernel(handle_, name));
  return Launch(kernel, grid, block, shared_bytes, all.data(), LaunchOptions());
}

std::string TextOf(const std::string& file) { return devices::TestSource("cuda_device/kernels/" + file + ".cu"); }

int LineOf(const std::string& file, const std::string& mark) {
  std::istringstream text(TextOf(file));
  const std::string end = "mark: " + mark;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.size() >= end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0) return number;
  }
  ADD_FAILURE() << "no line has the mark " << mark;
  return -1;
}

}  // namespace tcc::sim
