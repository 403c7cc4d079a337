#include "runtime/devices/sim_device.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "runtime/code_object.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/devices/host_device.h"
#include "runtime/devices/sim/sim_abi.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

struct LoadedFunction {
  sim::Kernel kernel;
  LibraryCall* call = nullptr;  // instead of a kernel
};

struct LoadedModule {
  std::unique_ptr<LibraryCall> call;  // instead of code
  std::shared_ptr<const CodeObject> code;
  std::shared_ptr<const std::string> bytes;  // for the line numbers in messages: loaded code has no file
  std::mutex mutex;
  std::list<LoadedFunction> functions;  // guarded by mutex
};

sim::Dim DimOf(int64_t x, int64_t y, int64_t z) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

class SimDevice : public HostDevice {
 public:
  explicit SimDevice(const SimOptions& options)
      : HostDevice(Kind::kCudaSim, "cuda-sim", {DeviceType::kCudaSim, 0}, options.memory_bytes, /*guard=*/256) {
    properties_.name = "a simulated CUDA device";
    properties_.compute_capability = 90;
    options_.threads = options.threads;
  }

  bool checks_accesses() const override { return true; }
  int Suits(std::string_view arch) const override { return arch == "sim" ? 1 : LibrarySuits(arch, kind()); }

  absl::StatusOr<FunctionHandle*> Function(ModuleHandle* handle, const std::string& symbol) override {
    auto& module = *reinterpret_cast<LoadedModule*>(handle);
    LoadedFunction function;
    function.call = module.call.get();
    if (function.call == nullptr) {
      TCC_ASSIGN_OR_RETURN(function.kernel, sim::FindKernel(module.code->handle(), symbol, module.bytes));
    }
    const std::lock_guard lock(module.mutex);
    return reinterpret_cast<FunctionHandle*>(&module.functions.emplace_back(std::move(function)));
  }

 protected:
  absl::StatusOr<ModuleHandle*> DoLoadModule(std::string_view bytes, const std::string& name) override {
    auto module = std::make_unique<LoadedModule>();
    if (IsLibraryCall(bytes)) {
      TCC_ASSIGN_OR_RETURN(module->call, MakeLibraryCall(bytes, kind(), handles_, name));
      return reinterpret_cast<ModuleHandle*>(module.release());
    }
    TCC_ASSIGN_OR_RETURN(module->code, CodeObject::Load(bytes, name));
    module->bytes = std::make_shared<const std::string>(bytes);
    return reinterpret_cast<ModuleHandle*>(module.release());
  }
  void DoUnloadModule(ModuleHandle* module) override { delete reinterpret_cast<LoadedModule*>(module); }

  absl::Status Run(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params) override {
    auto& loaded = *reinterpret_cast<LoadedFunction*>(function);
    if (loaded.call != nullptr) return loaded.call->Run(params, shape.buffers, nullptr);
    for (const int64_t extent : shape.grid) {
      if (extent > 0x7FFFFFFF)
        return absl::InvalidArgumentError(absl::StrCat(name(), ": a grid of ", extent, " blocks"));
    }
    sim::LaunchOptions options = options_;
    options.buffers.reserve(shape.buffers.size());
    for (const MemoryRange& range : shape.buffers) {
      // (Of a value without elements nothing is there.)
      if (range.bytes > 0 && !IsAllocated(range.memory, range.bytes)) {
        return absl::InternalError(
            absl::StrCat(name(), ": a kernel is given ", range.bytes, " bytes that are not, or no longer, allocated"));
      }
      const auto begin = reinterpret_cast<uintptr_t>(range.memory);
      options.buffers.push_back({begin, begin + static_cast<uintptr_t>(range.bytes)});
    }
    std::vector<TccSimTensorMap> maps;
    for (const TensorMap& map : shape.tensor_maps) {
      TCC_ASSIGN_OR_RETURN(maps.emplace_back(),
                           EncodeForSim(map, *static_cast<const void* const*>(params.at(map.param))));
    }
    std::vector<void*> all(params.begin(), params.end());
    for (TccSimTensorMap& map : maps) all.push_back(&map);
    return sim::Launch(loaded.kernel, DimOf(shape.grid[0], shape.grid[1], shape.grid[2]),
                       DimOf(shape.block[0], shape.block[1], shape.block[2]), static_cast<size_t>(shape.shared_bytes),
                       all.data(), options);
  }
  void Allocated(void* memory, int64_t bytes) override { sim::RegisterMemory(memory, static_cast<size_t>(bytes)); }
  void Freed(void* memory) override { sim::UnregisterMemory(memory); }

 private:
  sim::LaunchOptions options_;
  const std::shared_ptr<LibraryHandles> handles_ = MakeLibraryHandles();
};

}  // namespace

absl::StatusOr<TccSimTensorMap> EncodeForSim(const TensorMap& map, const void* base) {
  const auto bad = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat("cuda-sim: a tensor map with ", what...));
  };
  TccSimTensorMap made = {};
  made.base = base;
  made.rank = static_cast<unsigned>(map.rank);
  made.element_bytes = static_cast<unsigned>(map.element_bytes);
  made.swizzle = static_cast<unsigned>(map.swizzle);
  if (map.rank < 1 || map.rank > 5) return bad(map.rank, " extents");
  if (map.element_bytes != 1 && map.element_bytes != 2 && map.element_bytes != 4 && map.element_bytes != 8)
    return bad("elements of ", map.element_bytes, " bytes");
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return bad("lines of ", map.swizzle, " bytes");
  if (reinterpret_cast<uintptr_t>(base) % kTensorMapAlignment != 0)
    return bad("an address that is no multiple of ", kTensorMapAlignment);
  for (size_t i = 0; i < static_cast<size_t>(map.rank); ++i) {
    if (map.extents[i] < 0 || map.extents[i] > int64_t{1} << 32) return bad("an extent of ", map.extents[i]);
    if (map.box[i] < 1 || map.box[i] > 256) return bad("a box of ", map.box[i]);
    made.extents[i] = std::max<unsigned long long>(1, static_cast<unsigned long long>(map.extents[i]));
    made.box[i] = static_cast<unsigned>(map.box[i]);
    if (i + 1 == static_cast<size_t>(map.rank)) break;
    const int64_t stride = map.strides[i];
    if (stride % kTensorMapAlignment != 0 || stride < 0 || stride >= kMostTensorMapStride)
      return bad("a stride of ", stride, " bytes");
    made.strides[i] = static_cast<unsigned long long>(stride);
  }
  return made;
}

std::shared_ptr<ComputeDevice> MakeSimDevice(const SimOptions& options) { return std::make_shared<SimDevice>(options); }

}  // namespace tcc::devices
