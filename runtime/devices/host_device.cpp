#include "runtime/devices/host_device.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

constexpr int64_t kAlignment = 256;
constexpr unsigned char kGuardByte = 0xC5;

struct Event {
  int64_t nanoseconds = -1;
};
Event& EventOf(EventHandle* handle) { return *reinterpret_cast<Event*>(handle); }

}  // namespace

struct HostDevice::Graph {
  struct Node {
    FunctionHandle* function;
    LaunchShape shape;
    size_t params;  // index of the first
    size_t count;
    std::vector<TensorMap> tensor_maps;
  };
  std::vector<Node> nodes;
  std::vector<int64_t> values;  // of the parameters
  std::vector<void*> params;    // their addresses
};

struct HostDevice::Stream {
  absl::Status error;              // comes out when it is waited for
  std::unique_ptr<Graph> capture;  // while one is being made
  absl::Status capture_error;
};

HostDevice::HostDevice(Kind kind, const std::string& name, Device id, int64_t memory_bytes, int64_t guard)
    : ComputeDevice(kind, name, id), limit_(memory_bytes), guard_(guard) {
  properties_.memory_bytes = memory_bytes;
}

HostDevice::~HostDevice() {
  for (const auto& [memory, block] : blocks_) std::free(block.base);
}

absl::StatusOr<MemoryInfo> HostDevice::Memory() {
  const std::lock_guard lock(mutex_);
  if (limit_ == 0) return MemoryInfo{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};
  return MemoryInfo{limit_ - used_, limit_};
}

absl::StatusOr<void*> HostDevice::DoAllocate(int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (limit_ > 0 && bytes > limit_ - used_) {
      return absl::ResourceExhaustedError(absl::StrCat(name(), ": out of memory: ", BytesText(bytes),
                                                       " were asked for, ", BytesText(limit_ - used_), " of ",
                                                       BytesText(limit_), " are free"));
    }
  }
  const int64_t guard = (guard_ + kAlignment - 1) / kAlignment * kAlignment;
  const int64_t total = (bytes + 2 * guard + kAlignment) / kAlignment * kAlignment;
  char* const base =
      bytes > int64_t{1} << 56
          ? nullptr
          : static_cast<char*>(std::aligned_alloc(static_cast<size_t>(kAlignment), static_cast<size_t>(total)));
  if (base == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(name(), ": the host has no memory for ", BytesText(bytes)));
  }
  char* const memory = base + guard;
  if (guard > 0) {
    std::memset(base, kGuardByte, static_cast<size_t>(guard));
    std::memset(memory, 0xFF, static_cast<size_t>(bytes));
    std::memset(memory + bytes, kGuardByte, static_cast<size_t>(total - guard - bytes));
  }
  const std::lock_guard lock(mutex_);
  used_ += bytes;
  blocks_[memory] = {bytes, base};
  Allocated(memory, bytes);
  return memory;
}

bool HostDevice::IsAllocated(const void* memory, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(const_cast<void*>(memory));
  if (found == blocks_.begin()) return false;
  --found;
  const int64_t offset = static_cast<const char*>(memory) - static_cast<const char*>(found->first);
  return bytes >= 0 && offset <= found->second.bytes && bytes <= found->second.bytes - offset;
}

absl::Status HostDevice::CheckGuards(const void* memory, const Block& block) {
  if (guard_ == 0) return absl::OkStatus();
  auto* const begin = static_cast<unsigned char*>(const_cast<void*>(memory));
  const auto written = [](const unsigned char* from, int64_t count) {
    return std::find_if(from, from + count, [](unsigned char byte) { return byte != kGuardByte; }) - from;
  };
  const int64_t before = written(begin - guard_, guard_), behind = written(begin + block.bytes, guard_);
  if (before == guard_ && behind == guard_) return absl::OkStatus();
  std::memset(begin - guard_, kGuardByte, static_cast<size_t>(guard_));
  std::memset(begin + block.bytes, kGuardByte, static_cast<size_t>(guard_));
  return absl::InternalError(absl::StrCat(name(), ": a kernel wrote outside its memory: ",
                                          behind < guard_ ? absl::StrCat(behind, " bytes past the end")
                                                          : absl::StrCat(guard_ - before, " bytes before the start"),
                                          " of an allocation of ", block.bytes, " bytes"));
}

void HostDevice::DoFree(void* memory, int64_t) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) return;
  Freed(memory);
  if (absl::Status status = CheckGuards(memory, found->second); !status.ok()) damage_ = std::move(status);
  used_ -= found->second.bytes;
  std::free(found->second.base);
  blocks_.erase(found);
}

absl::StatusOr<StreamHandle*> HostDevice::DoCreateStream() { return reinterpret_cast<StreamHandle*>(new Stream); }
void HostDevice::DoDestroyStream(StreamHandle* stream) { delete reinterpret_cast<Stream*>(stream); }

// As with GPUs, where memory that is copied or cleared while a graph is made would be captured, which nobody means, and
// waiting spoils the capture.
absl::Status HostDevice::RefuseCapture(StreamHandle* stream, absl::string_view what) {
  auto* const mine = reinterpret_cast<Stream*>(stream);
  if (mine == nullptr || mine->capture == nullptr) return absl::OkStatus();
  mine->capture_error = absl::FailedPreconditionError(absl::StrCat(name(), ": ", what, " while a graph is captured"));
  return mine->capture_error;
}

absl::Status HostDevice::DoSynchronize(StreamHandle* stream) {
  TCC_RETURN_IF_ERROR(RefuseCapture(stream, "waiting for a stream"));
  absl::Status status = std::exchange(reinterpret_cast<Stream*>(stream)->error, absl::OkStatus());
  if (guard_ == 0) return status;
  const std::lock_guard lock(mutex_);
  if (status.ok()) status = std::exchange(damage_, absl::OkStatus());
  for (const auto& [memory, block] : blocks_) {
    absl::Status damage = CheckGuards(memory, block);
    if (status.ok()) status = std::move(damage);
  }
  return status;
}

absl::Status HostDevice::DoCopy(Direction, void* to, const void* from, int64_t bytes, StreamHandle* stream) {
  TCC_RETURN_IF_ERROR(RefuseCapture(stream, "a copy"));
  std::memmove(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status HostDevice::DoClear(void* memory, int64_t bytes, StreamHandle* stream) {
  TCC_RETURN_IF_ERROR(RefuseCapture(stream, "clearing memory"));
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::StatusOr<EventHandle*> HostDevice::DoCreateEvent() { return reinterpret_cast<EventHandle*>(new Event); }
void HostDevice::DoDestroyEvent(EventHandle* event) { delete &EventOf(event); }

absl::Status HostDevice::Record(EventHandle* event, StreamHandle* stream) {
  TCC_RETURN_IF_ERROR(RefuseCapture(stream, "recording an event"));
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  EventOf(event).nanoseconds = now.tv_sec * int64_t{1000000000} + now.tv_nsec;
  return absl::OkStatus();
}

absl::Status HostDevice::Wait(StreamHandle* stream, EventHandle*) {
  return RefuseCapture(stream, "waiting for an event");
}
absl::StatusOr<bool> HostDevice::IsDone(EventHandle*) { return true; }

absl::StatusOr<double> HostDevice::Milliseconds(EventHandle* from, EventHandle* to) {
  const int64_t begin = EventOf(from).nanoseconds, end = EventOf(to).nanoseconds;
  if (begin < 0 || end < 0) return absl::FailedPreconditionError(absl::StrCat(name(), ": an event was not recorded"));
  return static_cast<double>(end - begin) * 1e-6;
}

absl::Status HostDevice::DoLaunch(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params,
                                  StreamHandle* stream) {
  auto& mine = *reinterpret_cast<Stream*>(stream);
  if (mine.capture == nullptr) return Run(function, shape, params);
  Graph& graph = *mine.capture;
  graph.nodes.push_back(
      {function, shape, graph.values.size(), params.size(), {shape.tensor_maps.begin(), shape.tensor_maps.end()}});
  graph.nodes.back().shape.buffers = {};
  for (const void* param : params) {
    int64_t value = 0;
    std::memcpy(&value, param, sizeof(value));
    graph.values.push_back(value);
  }
  return absl::OkStatus();
}

absl::Status HostDevice::BeginCapture(StreamHandle* stream) {
  auto& mine = *reinterpret_cast<Stream*>(stream);
  if (mine.capture != nullptr) return absl::FailedPreconditionError(absl::StrCat(name(), ": a capture is under way"));
  mine.capture = std::make_unique<Graph>();
  mine.capture_error = absl::OkStatus();
  return absl::OkStatus();
}

absl::StatusOr<GraphHandle*> HostDevice::DoEndCapture(StreamHandle* stream) {
  auto& mine = *reinterpret_cast<Stream*>(stream);
  if (mine.capture == nullptr) return absl::FailedPreconditionError(absl::StrCat(name(), ": no capture is under way"));
  std::unique_ptr<Graph> graph = std::move(mine.capture);
  if (!mine.capture_error.ok()) return mine.capture_error;
  for (int64_t& value : graph->values) graph->params.push_back(&value);
  return reinterpret_cast<GraphHandle*>(graph.release());
}

absl::Status HostDevice::DoLaunchGraph(GraphHandle* handle, StreamHandle*) {
  auto& graph = *reinterpret_cast<Graph*>(handle);
  for (const Graph::Node& node : graph.nodes) {
    LaunchShape shape = node.shape;
    shape.tensor_maps = node.tensor_maps;
    TCC_RETURN_IF_ERROR(Run(node.function, shape, absl::MakeSpan(graph.params.data() + node.params, node.count)));
  }
  return absl::OkStatus();
}

void HostDevice::DoDestroyGraph(GraphHandle* graph) { delete reinterpret_cast<Graph*>(graph); }

}  // namespace tcc::devices
