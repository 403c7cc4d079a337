// A device that kernels run on, whichever it is: a GPU behind the CUDA driver, the simulator, or one that only counts.
//
// Handles belong to the device that made them; each is destroyed by it, once nothing uses it any more. Streams run what
// is put on them in order; different streams are not ordered but by events. The host need not wait: an error of a
// kernel comes out of the launch or of a later call that waits for its stream.
//
// Thread safety: any number of threads may call, but one stream is used by one thread at a time.
// Errors say what was asked for, on which device, and what to do; the device can be used after any of them, unless the
// text says that it is lost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor.h"

namespace tcc::devices {

struct StreamHandle;
struct EventHandle;
struct ModuleHandle;
struct FunctionHandle;
struct GraphHandle;

enum class Kind : uint8_t { kNull, kCuda, kCudaSim };

struct Properties {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90 for 9.0
  int driver_version = 0;      // of CUDA: 13000 for 13.0; 0: there is no driver
  int multiprocessors = 1;
  int warp_size = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 2048;
  int registers_per_multiprocessor = 65536;
  int64_t shared_per_block = 48 << 10;         // without asking
  int64_t shared_per_block_optin = 227 << 10;  // dynamic, at most
  int64_t shared_per_multiprocessor = 228 << 10;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;  // 0: not known
};

struct MemoryInfo {
  int64_t free = 0, total = 0;  // bytes
};

struct MemoryRange {
  const void* memory;
  int64_t bytes;
};

// How a kernel loads tiles of a tensor by TMA (sm_90; CUDA driver API, cuTensorMapEncodeTiled).
struct TensorMap {
  int32_t param;  // of the launch: the address of the first element, a multiple of 16
  int32_t element_bytes;
  int32_t rank;
  int32_t swizzle;                 // bytes: 0, 32, 64, 128
  std::array<int64_t, 5> extents;  // innermost first; 0 counts as 1 (nothing is loaded then)
  std::array<int64_t, 4> strides;  // bytes, of the extents but the innermost
  std::array<int32_t, 5> box;
};
inline constexpr int64_t kTensorMapAlignment = 16;                 // bytes, of addresses and strides
inline constexpr int64_t kMostTensorMapStride = int64_t{1} << 40;  // bytes; strides are less
inline constexpr size_t kMostTensorMaps = 4;                       // of a launch

struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int32_t, 3> block = {1, 1, 1};
  int64_t shared_bytes = 0;  // dynamic
  // What the kernel was given, for devices that check it (checks_accesses): values lie side by side in one allocation.
  // Read before the launch returns. Empty: all that is allocated.
  absl::Span<const MemoryRange> buffers = {};
  // Further parameters behind the others, each of 128 bytes, which the device makes. Read before the launch returns.
  absl::Span<const TensorMap> tensor_maps = {};
};

// What is alive (so that tests see leaks), and what has been asked for so far.
struct Counters {
  int64_t allocations = 0, bytes = 0, streams = 0, events = 0, modules = 0, graphs = 0;
  int64_t peak_bytes = 0;
  int64_t launches = 0, copies = 0, graph_launches = 0, synchronisations = 0, total_allocations = 0;
};

// What a test can let fail.
enum class Fault : uint8_t { kAllocate, kCopy, kLaunch, kLoadModule, kSynchronize, kStream, kGraph, kEvent };
inline constexpr size_t kFaults = 8;

// Of a grid, and of a block: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
inline constexpr std::array<int64_t, 3> kMostBlocks = {0x7FFFFFFF, 0xFFFF, 0xFFFF};
inline constexpr std::array<int32_t, 3> kMostThreads = {1024, 1024, 64};

class ComputeDevice {
 public:
  ComputeDevice(const ComputeDevice&) = delete;
  ComputeDevice& operator=(const ComputeDevice&) = delete;
  virtual ~ComputeDevice() = default;

  Kind kind() const { return kind_; }
  // "cuda:0", "cuda-sim", "null".
  const std::string& name() const { return name_; }
  // As tensors in its memory have it.
  Device id() const { return id_; }
  const Properties& properties() const { return properties_; }
  virtual absl::StatusOr<MemoryInfo> Memory() = 0;

  // How well code for `arch` ("sm_90a", "compute_90", "sim") suits this device: 0 not at all, the highest is the best.
  virtual int Suits(std::string_view arch) const = 0;
  // Whether it looks at LaunchShape::buffers.
  virtual bool checks_accesses() const { return false; }

  // At least 256-byte aligned; `bytes` may be 0. ResourceExhausted says what is free. A host address on the devices
  // that are none.
  absl::StatusOr<void*> Allocate(int64_t bytes);
  // Nothing that was started may use it still. Null is fine.
  void Free(void* memory, int64_t bytes);

  absl::StatusOr<StreamHandle*> CreateStream();
  void DestroyStream(StreamHandle* stream);
  // Waits for all that was put on the stream, whose errors come out here.
  absl::Status Synchronize(StreamHandle* stream);
  // A stream of the caller's (a CUstream); null where this device has no such thing.
  virtual StreamHandle* Borrow(void* native_stream) { return nullptr; }

  // `from` can be changed once this returns, unless it is page-locked. `to` is there after Synchronize.
  absl::Status CopyToDevice(void* to, const void* from, int64_t bytes, StreamHandle* stream);
  absl::Status CopyToHost(void* to, const void* from, int64_t bytes, StreamHandle* stream);
  absl::Status CopyOnDevice(void* to, const void* from, int64_t bytes, StreamHandle* stream);
  absl::Status Clear(void* memory, int64_t bytes, StreamHandle* stream);  // to zeros

  absl::StatusOr<EventHandle*> CreateEvent();
  void DestroyEvent(EventHandle* event);
  virtual absl::Status Record(EventHandle* event, StreamHandle* stream) = 0;
  // What is put on the stream later starts after the event.
  virtual absl::Status Wait(StreamHandle* stream, EventHandle* event) = 0;
  virtual absl::StatusOr<bool> IsDone(EventHandle* event) = 0;
  // Of two events that are done.
  virtual absl::StatusOr<double> Milliseconds(EventHandle* from, EventHandle* to) = 0;

  // `name` is for messages. FailedPrecondition where the device cannot run the code.
  absl::StatusOr<ModuleHandle*> LoadModule(std::string_view bytes, const std::string& name);
  void UnloadModule(ModuleHandle* module);
  // Lives as long as the module. NotFound.
  virtual absl::StatusOr<FunctionHandle*> Function(ModuleHandle* module, const std::string& symbol) = 0;
  // `params`: the address of each parameter, all of 8 bytes; read before this returns. A shape that no such device
  // takes is an error before anything is started.
  absl::Status Launch(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params,
                      StreamHandle* stream) {
    if (armed_.load(std::memory_order_relaxed)) {
      if (absl::Status status = Injected(Fault::kLaunch); !status.ok()) return status;
    }
    if (!Takes(shape)) return Misfit(shape);
    launches_.fetch_add(1, std::memory_order_relaxed);
    return DoLaunch(function, shape, params, stream);
  }

  // What is put on the stream between the two is not run but becomes a graph, which can be started any number of times.
  // Unimplemented where the device has none.
  virtual absl::Status BeginCapture(StreamHandle* stream) = 0;
  // Null with an error, also where something in between could not be captured.
  absl::StatusOr<GraphHandle*> EndCapture(StreamHandle* stream);
  absl::Status LaunchGraph(GraphHandle* graph, StreamHandle* stream);
  void DestroyGraph(GraphHandle* graph);

  Counters counters() const;
  // For tests: after `skip` more operations of that kind the next one fails, once.
  void Inject(Fault fault, int64_t skip = 0);

 protected:
  ComputeDevice(Kind kind, std::string name, Device id) : kind_(kind), name_(std::move(name)), id_(id) {}

  virtual absl::StatusOr<void*> DoAllocate(int64_t bytes) = 0;
  virtual void DoFree(void* memory, int64_t bytes) = 0;
  virtual absl::StatusOr<StreamHandle*> DoCreateStream() = 0;
  virtual void DoDestroyStream(StreamHandle* stream) = 0;
  virtual absl::Status DoSynchronize(StreamHandle* stream) = 0;
  enum class Direction : uint8_t { kToDevice, kToHost, kOnDevice };
  virtual absl::Status DoCopy(Direction direction, void* to, const void* from, int64_t bytes, StreamHandle* stream) = 0;
  virtual absl::Status DoClear(void* memory, int64_t bytes, StreamHandle* stream) = 0;
  virtual absl::StatusOr<EventHandle*> DoCreateEvent() = 0;
  virtual void DoDestroyEvent(EventHandle* event) = 0;
  virtual absl::StatusOr<ModuleHandle*> DoLoadModule(std::string_view bytes, const std::string& name) = 0;
  virtual void DoUnloadModule(ModuleHandle* module) = 0;
  virtual absl::Status DoLaunch(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params,
                                StreamHandle* stream) = 0;
  virtual absl::StatusOr<GraphHandle*> DoEndCapture(StreamHandle* stream) = 0;
  virtual absl::Status DoLaunchGraph(GraphHandle* graph, StreamHandle* stream) = 0;
  virtual void DoDestroyGraph(GraphHandle* graph) = 0;

  Properties properties_;

 private:
  bool Takes(const LaunchShape& shape) const {
    const auto in = [](int64_t extent, int64_t most) { return extent >= 1 && extent <= most; };
    const auto& [x, y, z] = shape.block;
    return in(shape.grid[0], kMostBlocks[0]) && in(shape.grid[1], kMostBlocks[1]) &&
           in(shape.grid[2], kMostBlocks[2]) && in(x, kMostThreads[0]) && in(y, kMostThreads[1]) &&
           in(z, kMostThreads[2]) && int64_t{x} * y * z <= properties_.max_threads_per_block &&
           shape.shared_bytes >= 0 && shape.shared_bytes <= properties_.shared_per_block_optin;
  }
  absl::Status Misfit(const LaunchShape& shape) const;
  absl::Status Injected(Fault fault);
  absl::Status Copy(Direction direction, void* to, const void* from, int64_t bytes, StreamHandle* stream);

  const Kind kind_;
  const std::string name_;
  const Device id_;

  std::atomic<bool> armed_ = false;
  std::array<std::atomic<int64_t>, kFaults> countdown_ = {};  // 0: none; n: the n-th from now fails
  std::atomic<int64_t> allocations_ = 0, bytes_ = 0, streams_ = 0, events_ = 0, modules_ = 0, graphs_ = 0;
  std::atomic<int64_t> peak_bytes_ = 0, launches_ = 0, copies_ = 0, graph_launches_ = 0, synchronisations_ = 0;
  std::atomic<int64_t> total_allocations_ = 0;
};

// "1.5 GiB".
std::string BytesText(int64_t bytes);

}  // namespace tcc::devices
