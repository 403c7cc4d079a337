#include "runtime/devices/cuda_device.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/devices/cuda_arch.h"
#include "runtime/devices/cuda_driver.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using cuda::Driver;
using cuda::kSuccess;

constexpr uint16_t kCudaMachine = 190;  // EM_CUDA

cuda::DevicePtr Address(const void* memory) { return reinterpret_cast<cuda::DevicePtr>(memory); }

struct LoadedFunction {
  cuda::Function* function = nullptr;
  LibraryCall* call = nullptr;  // instead of a function
  std::string name;
  std::vector<size_t> param_bytes;        // of each parameter; empty where the driver does not tell
  std::atomic<int64_t> shared_bytes = 0;  // dynamic, that it is allowed
};
struct LoadedModule {
  cuda::Module* module = nullptr;
  std::unique_ptr<LibraryCall> call;  // instead of a module
  std::mutex mutex;
  std::list<LoadedFunction> functions;  // guarded by mutex
};
struct Event {
  cuda::Event* event;
};

// The driver is given an address and no size: what it would read of a cubin must be there.
absl::Status CheckImage(std::string_view bytes, const std::string& name) {
  const auto damaged = [&](absl::string_view how) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": the binary is damaged: ", how, ": compile it again"));
  };
  if (bytes.empty()) return damaged("it is empty");
  if (bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) {
    // PTX.
    return bytes.find('\0') == std::string_view::npos ? absl::OkStatus() : damaged("neither a cubin nor PTX");
  }
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return damaged("it ends in its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kCudaMachine) return damaged("not for a GPU");
  const auto outside = [&](uint64_t offset, uint64_t size) {
    return offset > bytes.size() || size > bytes.size() - offset;
  };
  if ((header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr)) ||
      outside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) ||
      outside(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize)) {
    return damaged("it ends before its tables");
  }
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS && outside(section.sh_offset, section.sh_size)) {
      return damaged("it ends before its sections");
    }
  }
  return absl::OkStatus();
}

class CudaDevice : public ComputeDevice {
 public:
  CudaDevice(const Driver& driver, int index)
      : ComputeDevice(Kind::kCuda, absl::StrCat("cuda:", index), {DeviceType::kCuda, index}), d_(driver) {}
  ~CudaDevice() override {
    if (context_ == nullptr) return;
    {
      const Current current(*this);
      handles_.reset();
    }
    d_.PrimaryCtxRelease(device_);
  }

  // What it is; no context is made, which would take seconds and memory of it.
  absl::Status Describe() {
    TCC_RETURN_IF_ERROR(Check(d_.DeviceGet(&device_, id().index), "get the device"));
    std::array<char, 256> text = {};
    TCC_RETURN_IF_ERROR(
        Check(d_.DeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device_), "read its name"));
    Properties& p = properties_;
    p.name = text.data();
    p.driver_version = d_.version;
    p.compute_capability = Attribute(cuda::kAttributeMajor) * 10 + Attribute(cuda::kAttributeMinor);
    p.multiprocessors = Attribute(cuda::kAttributeMultiprocessors);
    p.warp_size = Attribute(cuda::kAttributeWarpSize);
    p.max_threads_per_block = Attribute(cuda::kAttributeMaxThreadsPerBlock);
    p.max_threads_per_multiprocessor = Attribute(cuda::kAttributeMaxThreadsPerMultiprocessor);
    p.registers_per_multiprocessor = Attribute(cuda::kAttributeRegistersPerMultiprocessor);
    p.shared_per_block = Attribute(cuda::kAttributeSharedPerBlock);
    p.shared_per_block_optin = std::max<int64_t>(p.shared_per_block, Attribute(cuda::kAttributeSharedPerBlockOptin));
    p.shared_per_multiprocessor = Attribute(cuda::kAttributeSharedPerMultiprocessor);
    p.l2_bytes = Attribute(cuda::kAttributeL2Bytes);
    p.clock_khz = Attribute(cuda::kAttributeClockRate);
    p.memory_clock_khz = Attribute(cuda::kAttributeMemoryClockRate);
    p.memory_bus_bits = Attribute(cuda::kAttributeMemoryBusBits);
    size_t bytes = 0;
    TCC_RETURN_IF_ERROR(Check(d_.DeviceTotalMem(&bytes, device_), "read the size of its memory"));
    p.memory_bytes = static_cast<int64_t>(bytes);
    return absl::OkStatus();
  }
  absl::Status Start() { return Check(d_.PrimaryCtxRetain(&context_, device_), "start the device"); }

  int Suits(std::string_view arch) const override {
    const int rank = CudaSuits(arch, properties_.compute_capability);
    return rank > 0 ? rank : LibrarySuits(arch, kind());
  }

  absl::StatusOr<MemoryInfo> Memory() override {
    const Current current(*this);
    size_t free = 0, total = 0;
    TCC_RETURN_IF_ERROR(Check(d_.MemGetInfo(&free, &total), "ask for free memory"));
    return MemoryInfo{static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }

  StreamHandle* Borrow(void* native_stream) override { return static_cast<StreamHandle*>(native_stream); }

  absl::Status Record(EventHandle* event, StreamHandle* stream) override {
    const Current current(*this);
    return Check(d_.EventRecord(EventOf(event), StreamOf(stream)), "record an event");
  }
  absl::Status Wait(StreamHandle* stream, EventHandle* event) override {
    const Current current(*this);
    return Check(d_.StreamWaitEvent(StreamOf(stream), EventOf(event), 0), "let a stream wait for an event");
  }
  absl::StatusOr<bool> IsDone(EventHandle* event) override {
    const Current current(*this);
    const cuda::Result result = d_.EventQuery(EventOf(event));
    if (result == cuda::kNotReady) return false;
    TCC_RETURN_IF_ERROR(Check(result, "ask for an event"));
    return true;
  }
  absl::StatusOr<double> Milliseconds(EventHandle* from, EventHandle* to) override {
    const Current current(*this);
    float milliseconds = 0;
    TCC_RETURN_IF_ERROR(
        Check(d_.EventElapsedTime(&milliseconds, EventOf(from), EventOf(to)), "take the time between two events"));
    return static_cast<double>(milliseconds);
  }

  absl::StatusOr<FunctionHandle*> Function(ModuleHandle* handle, const std::string& symbol) override {
    auto& module = *reinterpret_cast<LoadedModule*>(handle);
    const Current current(*this);
    if (module.call != nullptr) {
      const std::lock_guard lock(module.mutex);
      LoadedFunction& loaded = module.functions.emplace_back();
      loaded.call = module.call.get();
      loaded.name = symbol;
      return reinterpret_cast<FunctionHandle*>(&loaded);
    }
    cuda::Function* function = nullptr;
    TCC_RETURN_IF_ERROR(Check(d_.ModuleGetFunction(&function, module.module, symbol.c_str()),
                              absl::StrCat("find the kernel '", symbol, "'")));
    const std::lock_guard lock(module.mutex);
    LoadedFunction& loaded = module.functions.emplace_back();
    loaded.function = function;
    loaded.name = symbol;
    for (size_t i = 0, offset = 0, bytes = 0;
         d_.FuncGetParamInfo != nullptr && d_.FuncGetParamInfo(function, i, &offset, &bytes) == kSuccess; ++i) {
      loaded.param_bytes.push_back(bytes);
    }
    return reinterpret_cast<FunctionHandle*>(&loaded);
  }

  absl::Status BeginCapture(StreamHandle* stream) override {
    const Current current(*this);
    return Check(d_.StreamBeginCapture(StreamOf(stream), cuda::kCaptureThreadLocal), "begin to capture a graph");
  }

 protected:
  absl::StatusOr<void*> DoAllocate(int64_t bytes) override {
    const Current current(*this);
    cuda::DevicePtr memory = 0;
    const cuda::Result result = d_.MemAlloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (result == cuda::kOutOfMemory) {
      size_t free = 0, total = 0;
      if (d_.MemGetInfo(&free, &total) != kSuccess) free = total = 0;
      return absl::ResourceExhaustedError(absl::StrCat(
          name(), ": out of memory: ", BytesText(bytes), " were asked for, ", BytesText(static_cast<int64_t>(free)),
          " of ", BytesText(static_cast<int64_t>(total)), " are free (of which other processes may take some)"));
    }
    TCC_RETURN_IF_ERROR(Check(result, absl::StrCat("allocate ", BytesText(bytes))));
    return std::bit_cast<void*>(memory);
  }
  void DoFree(void* memory, int64_t) override {
    const Current current(*this);
    d_.MemFree(Address(memory));
  }
  absl::StatusOr<StreamHandle*> DoCreateStream() override {
    const Current current(*this);
    cuda::Stream* stream = nullptr;
    TCC_RETURN_IF_ERROR(Check(d_.StreamCreate(&stream, cuda::kStreamNonBlocking), "create a stream"));
    return reinterpret_cast<StreamHandle*>(stream);
  }
  void DoDestroyStream(StreamHandle* stream) override {
    const Current current(*this);
    d_.StreamDestroy(StreamOf(stream));
  }
  absl::Status DoSynchronize(StreamHandle* stream) override {
    const Current current(*this);
    return Check(d_.StreamSynchronize(StreamOf(stream)), "wait for a stream");
  }
  absl::Status DoCopy(Direction direction, void* to, const void* from, int64_t bytes, StreamHandle* stream) override {
    const Current current(*this);
    const auto size = static_cast<size_t>(bytes);
    switch (direction) {
      case Direction::kToDevice:
        return Check(d_.MemcpyHtoDAsync(Address(to), from, size, StreamOf(stream)), "copy to the device");
      case Direction::kToHost:
        return Check(d_.MemcpyDtoHAsync(to, Address(from), size, StreamOf(stream)), "copy from the device");
      case Direction::kOnDevice:
        return Check(d_.MemcpyDtoDAsync(Address(to), Address(from), size, StreamOf(stream)), "copy on the device");
    }
    return absl::InternalError("unknown direction");
  }
  absl::Status DoClear(void* memory, int64_t bytes, StreamHandle* stream) override {
    const Current current(*this);
    return Check(d_.MemsetD8Async(Address(memory), 0, static_cast<size_t>(bytes), StreamOf(stream)), "clear memory");
  }
  absl::StatusOr<EventHandle*> DoCreateEvent() override {
    const Current current(*this);
    cuda::Event* event = nullptr;
    TCC_RETURN_IF_ERROR(Check(d_.EventCreate(&event, cuda::kEventDefault), "create an event"));
    return reinterpret_cast<EventHandle*>(event);
  }
  void DoDestroyEvent(EventHandle* event) override {
    const Current current(*this);
    d_.EventDestroy(EventOf(event));
  }

  absl::StatusOr<ModuleHandle*> DoLoadModule(std::string_view bytes, const std::string& name) override {
    const Current current(*this);
    if (IsLibraryCall(bytes)) {
      auto loaded = std::make_unique<LoadedModule>();
      TCC_ASSIGN_OR_RETURN(loaded->call, MakeLibraryCall(bytes, kind(), handles_, name));
      return reinterpret_cast<ModuleHandle*>(loaded.release());
    }
    TCC_RETURN_IF_ERROR(CheckImage(bytes, absl::StrCat(this->name(), ": ", name)));
    // (PTX has to end with a zero.)
    const std::string image(bytes);
    std::array<char, 4096> log = {};
    std::array<int, 2> options = {cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
    std::array<void*, 2> values = {log.data(), std::bit_cast<void*>(log.size() - 1)};
    cuda::Module* module = nullptr;
    const cuda::Result result = d_.ModuleLoadDataEx(&module, image.data(), static_cast<unsigned>(options.size()),
                                                    options.data(), values.data());
    if (result != kSuccess) {
      absl::Status status = Check(result, absl::StrCat("load ", name));
      if (log[0] == '\0') return status;
      return absl::Status(status.code(), absl::StrCat(status.message(), "\n", log.data()));
    }
    auto loaded = std::make_unique<LoadedModule>();
    loaded->module = module;
    return reinterpret_cast<ModuleHandle*>(loaded.release());
  }
  void DoUnloadModule(ModuleHandle* handle) override {
    // (First, or calls of libraries would go without the device's context.)
    const Current current(*this);
    const std::unique_ptr<LoadedModule> module(reinterpret_cast<LoadedModule*>(handle));
    if (module->module != nullptr) d_.ModuleUnload(module->module);
  }

  absl::Status DoLaunch(FunctionHandle* handle, const LaunchShape& shape, absl::Span<void*> params,
                        StreamHandle* stream) override {
    auto& function = *reinterpret_cast<LoadedFunction*>(handle);
    const Current current(*this);
    if (function.call != nullptr) return function.call->Run(params, shape.buffers, StreamOf(stream));
    TCC_RETURN_IF_ERROR(CheckParams(function, params.size(), shape.tensor_maps.size()));
    if (shape.shared_bytes > function.shared_bytes) TCC_RETURN_IF_ERROR(AllowShared(function, shape.shared_bytes));
    std::array<cuda::TensorMap, kMostTensorMaps> maps;
    absl::InlinedVector<void*, 16> all;
    if (!shape.tensor_maps.empty()) {
      TCC_RETURN_IF_ERROR(Encode(shape.tensor_maps, params, function.name, maps));
      all.assign(params.begin(), params.end());
      for (size_t i = 0; i < shape.tensor_maps.size(); ++i) all.push_back(&maps[i]);
      params = absl::MakeSpan(all);
    }
    const cuda::Result result =
        d_.LaunchKernel(function.function, static_cast<unsigned>(shape.grid[0]), static_cast<unsigned>(shape.grid[1]),
                        static_cast<unsigned>(shape.grid[2]), static_cast<unsigned>(shape.block[0]),
                        static_cast<unsigned>(shape.block[1]), static_cast<unsigned>(shape.block[2]),
                        static_cast<unsigned>(shape.shared_bytes), StreamOf(stream), params.data(), nullptr);
    if (result == kSuccess) return absl::OkStatus();
    return Check(result, absl::StrCat("start the kernel '", function.name, "'"));
  }

  // The driver reads as much as the kernel asks for.
  absl::Status CheckParams(const LoadedFunction& function, size_t words, size_t maps) const {
    size_t given = words + maps;
    for (size_t i = 0; i < function.param_bytes.size() && given > 0; ++i) {
      const size_t most = i < words ? sizeof(int64_t) : i < given ? sizeof(cuda::TensorMap) : 0;
      if (function.param_bytes[i] > most) given = 0;
    }
    if (given > 0 || function.param_bytes.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(name(), ": the kernel '", function.name, "' takes ",
                                                      function.param_bytes.size(), " parameters, which are not the ",
                                                      words + maps, " that the plan has for it: compile it again"));
  }

  absl::Status Encode(absl::Span<const TensorMap> maps, absl::Span<void*> params, const std::string& kernel,
                      std::array<cuda::TensorMap, kMostTensorMaps>& encoded) {
    if (d_.TensorMapEncodeTiled == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat(name(), ": the kernel '", kernel,
                       "' loads by TMA, which takes a driver for CUDA 12.0 or later: update "
                       "the GPU's driver"));
    }
    if (maps.size() > encoded.size())
      return absl::InternalError(absl::StrCat(kernel, ": ", maps.size(), " tensor maps"));
    for (size_t i = 0; i < maps.size(); ++i) {
      const TensorMap& map = maps[i];
      std::array<unsigned long long, 5> extents = {};
      std::array<unsigned long long, 4> strides = {};
      std::array<unsigned, 5> box = {}, ones = {1, 1, 1, 1, 1};
      for (size_t d = 0; d < static_cast<size_t>(map.rank); ++d) {
        extents[d] = static_cast<unsigned long long>(std::max<int64_t>(1, map.extents[d]));
        box[d] = static_cast<unsigned>(map.box[d]);
        if (d + 1 < static_cast<size_t>(map.rank)) strides[d] = static_cast<unsigned long long>(map.strides[d]);
      }
      const int type = map.element_bytes == 1   ? cuda::kTensorMapU8
                       : map.element_bytes == 2 ? cuda::kTensorMapU16
                       : map.element_bytes == 4 ? cuda::kTensorMapU32
                                                : cuda::kTensorMapU64;
      const int swizzle = map.swizzle == 0 ? 0 : map.swizzle == 32 ? 1 : map.swizzle == 64 ? 2 : 3;
      void* const base = *static_cast<void**>(params[static_cast<size_t>(map.param)]);
      TCC_RETURN_IF_ERROR(
          Check(d_.TensorMapEncodeTiled(&encoded[i], type, static_cast<unsigned>(map.rank), base, extents.data(),
                                        strides.data(), box.data(), ones.data(), cuda::kTensorMapNotInterleaved,
                                        swizzle, cuda::kTensorMapPromoteL2To256Bytes, cuda::kTensorMapZerosBeyond),
                absl::StrCat("make a tensor map for the kernel '", kernel, "'")));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<GraphHandle*> DoEndCapture(StreamHandle* stream) override {
    const Current current(*this);
    cuda::Graph* graph = nullptr;
    TCC_RETURN_IF_ERROR(Check(d_.StreamEndCapture(StreamOf(stream), &graph), "capture a graph"));
    cuda::GraphExec* executable = nullptr;
    const cuda::Result result = d_.GraphInstantiate(&executable, graph, 0);
    d_.GraphDestroy(graph);
    TCC_RETURN_IF_ERROR(Check(result, "make a graph"));
    return reinterpret_cast<GraphHandle*>(executable);
  }
  absl::Status DoLaunchGraph(GraphHandle* graph, StreamHandle* stream) override {
    const Current current(*this);
    return Check(d_.GraphLaunch(reinterpret_cast<cuda::GraphExec*>(graph), StreamOf(stream)), "start a graph");
  }
  void DoDestroyGraph(GraphHandle* graph) override {
    const Current current(*this);
    d_.GraphExecDestroy(reinterpret_cast<cuda::GraphExec*>(graph));
  }

 private:
  // The device's context on this thread, while it lives.
  class Current {
   public:
    explicit Current(const CudaDevice& device) : device_(device) {
      if (device_.d_.CtxGetCurrent(&before_) != kSuccess) before_ = nullptr;
      if (before_ != device_.context_) device_.d_.CtxSetCurrent(device_.context_);
    }
    ~Current() {
      if (before_ != device_.context_) device_.d_.CtxSetCurrent(before_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const CudaDevice& device_;
    cuda::Context* before_ = nullptr;
  };

  static cuda::Stream* StreamOf(StreamHandle* stream) { return reinterpret_cast<cuda::Stream*>(stream); }
  static cuda::Event* EventOf(EventHandle* event) { return reinterpret_cast<cuda::Event*>(event); }

  absl::Status Check(cuda::Result result, absl::string_view what) const {
    if (result == kSuccess) return absl::OkStatus();
    return d_.Error(result, absl::StrCat(name(), ": cannot ", what));
  }
  int Attribute(int attribute) const {
    int value = 0;
    return d_.DeviceGetAttribute(&value, attribute, device_) == kSuccess ? value : 0;
  }
  // (Static and dynamic memory together need it beyond 48 KiB: it is said for all dynamic memory.)
  absl::Status AllowShared(LoadedFunction& function, int64_t bytes) {
    const std::lock_guard lock(shared_mutex_);
    if (bytes <= function.shared_bytes) return absl::OkStatus();
    TCC_RETURN_IF_ERROR(
        Check(d_.FuncSetAttribute(function.function, cuda::kFunctionMaxDynamicShared, static_cast<int>(bytes)),
              absl::StrCat("let the kernel '", function.name, "' have ", bytes, " bytes of shared memory")));
    function.shared_bytes = bytes;
    return absl::OkStatus();
  }

  const Driver& d_;
  cuda::DeviceId device_ = 0;
  cuda::Context* context_ = nullptr;
  std::shared_ptr<LibraryHandles> handles_ = MakeLibraryHandles();
  std::mutex shared_mutex_;
};

}  // namespace

absl::StatusOr<int> CountCudaDevices(const std::string& library) {
  TCC_ASSIGN_OR_RETURN(const Driver* const driver, Driver::Load(library));
  return driver->devices;
}

namespace {

absl::StatusOr<std::shared_ptr<CudaDevice>> Described(int index, const std::string& library) {
  TCC_ASSIGN_OR_RETURN(const Driver* const driver, Driver::Load(library));
  if (index < 0 || index >= driver->devices) {
    return absl::NotFoundError(absl::StrCat("no device cuda:", index, ": there are ", driver->devices,
                                            " (CUDA_VISIBLE_DEVICES may hide others)"));
  }
  auto device = std::make_shared<CudaDevice>(*driver, index);
  TCC_RETURN_IF_ERROR(device->Describe());
  return device;
}

}  // namespace

absl::StatusOr<Properties> DescribeCudaDevice(int index, const std::string& library) {
  TCC_ASSIGN_OR_RETURN(const std::shared_ptr<CudaDevice> device, Described(index, library));
  return device->properties();
}

absl::StatusOr<std::shared_ptr<ComputeDevice>> MakeCudaDevice(int index, const std::string& library) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<CudaDevice> device, Described(index, library));
  TCC_RETURN_IF_ERROR(device->Start());
  return std::shared_ptr<ComputeDevice>(std::move(device));
}

}  // namespace tcc::devices
