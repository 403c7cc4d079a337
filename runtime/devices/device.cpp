#include "runtime/devices/device.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/status.h"

namespace tcc::devices {

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " bytes") : absl::StrFormat("%.1f %s", value, kUnits.at(unit));
}

void ComputeDevice::Inject(Fault fault, int64_t skip) {
  countdown_.at(static_cast<size_t>(fault)) = skip + 1;
  armed_ = true;
}

absl::Status ComputeDevice::Injected(Fault fault) {
  static constexpr std::array<const char*, kFaults> kNames = {"allocation",      "copy",
                                                              "launch",          "loading of a module",
                                                              "synchronisation", "creation of a stream",
                                                              "graph",           "creation of an event"};
  const auto index = static_cast<size_t>(fault);
  std::atomic<int64_t>& countdown = countdown_.at(index);
  int64_t left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return absl::OkStatus();
  const std::string text = absl::StrCat("injected fault: ", kNames.at(index), " on ", name_);
  return fault == Fault::kAllocate ? absl::ResourceExhaustedError(text) : absl::InternalError(text);
}

absl::Status ComputeDevice::Misfit(const LaunchShape& shape) const {
  const auto& [x, y, z] = shape.grid;
  if (x < 1 || y < 1 || z < 1 || x > kMostBlocks[0] || y > kMostBlocks[1] || z > kMostBlocks[2]) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": a grid of ", x, " x ", y, " x ", z,
                                                   " blocks; there may be 1 to ", kMostBlocks[0], " x ", kMostBlocks[1],
                                                   " x ", kMostBlocks[2]));
  }
  if (shape.shared_bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": ", shape.shared_bytes, " bytes of shared memory"));
  }
  if (shape.shared_bytes > properties_.shared_per_block_optin) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_, ": the kernel takes ", shape.shared_bytes, " bytes of shared memory, this device has ",
                     properties_.shared_per_block_optin, " for a block: compile for this device"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name_, ": a block of ", shape.block[0], " x ", shape.block[1], " x ", shape.block[2], " threads; there may be ",
      properties_.max_threads_per_block, ", at most ", kMostThreads[2], " along z"));
}

absl::StatusOr<void*> ComputeDevice::Allocate(int64_t bytes) {
  if (bytes < 0) return absl::InvalidArgumentError(absl::StrCat("an allocation of ", bytes, " bytes on ", name_));
  if (armed_) TCC_RETURN_IF_ERROR(Injected(Fault::kAllocate));
  TCC_ASSIGN_OR_RETURN(void* const memory, DoAllocate(bytes));
  ++allocations_;
  ++total_allocations_;
  const int64_t now = bytes_ += bytes;
  int64_t peak = peak_bytes_.load();
  while (now > peak && !peak_bytes_.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void ComputeDevice::Free(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  DoFree(memory, bytes);
  --allocations_;
  bytes_ -= bytes;
}

absl::StatusOr<StreamHandle*> ComputeDevice::CreateStream() {
  if (armed_) TCC_RETURN_IF_ERROR(Injected(Fault::kStream));
  TCC_ASSIGN_OR_RETURN(StreamHandle* const stream, DoCreateStream());
  ++streams_;
  return stream;
}

void ComputeDevice::DestroyStream(StreamHandle* stream) {
  if (stream == nullptr) return;
  DoDestroyStream(stream);
  --streams_;
}

absl::Status ComputeDevice::Synchronize(StreamHandle* stream) {
  ++synchronisations_;
  // (An injected fault is one of what ran: waiting is done all the same.)
  absl::Status status = DoSynchronize(stream);
  if (status.ok() && armed_) status = Injected(Fault::kSynchronize);
  return status;
}

absl::Status ComputeDevice::Copy(Direction direction, void* to, const void* from, int64_t bytes, StreamHandle* stream) {
  if (bytes <= 0) return absl::OkStatus();
  if (armed_) TCC_RETURN_IF_ERROR(Injected(Fault::kCopy));
  ++copies_;
  return DoCopy(direction, to, from, bytes, stream);
}

absl::Status ComputeDevice::CopyToDevice(void* to, const void* from, int64_t bytes, StreamHandle* stream) {
  return Copy(Direction::kToDevice, to, from, bytes, stream);
}
absl::Status ComputeDevice::CopyToHost(void* to, const void* from, int64_t bytes, StreamHandle* stream) {
  return Copy(Direction::kToHost, to, from, bytes, stream);
}
absl::Status ComputeDevice::CopyOnDevice(void* to, const void* from, int64_t bytes, StreamHandle* stream) {
  return Copy(Direction::kOnDevice, to, from, bytes, stream);
}
absl::Status ComputeDevice::Clear(void* memory, int64_t bytes, StreamHandle* stream) {
  return bytes <= 0 ? absl::OkStatus() : DoClear(memory, bytes, stream);
}

absl::StatusOr<EventHandle*> ComputeDevice::CreateEvent() {
  if (armed_) TCC_RETURN_IF_ERROR(Injected(Fault::kEvent));
  TCC_ASSIGN_OR_RETURN(EventHandle* const event, DoCreateEvent());
  ++events_;
  return event;
}

void ComputeDevice::DestroyEvent(EventHandle* event) {
  if (event == nullptr) return;
  DoDestroyEvent(event);
  --events_;
}

absl::StatusOr<ModuleHandle*> ComputeDevice::LoadModule(std::string_view bytes, const std::string& name) {
  if (armed_) {
    if (const absl::Status status = Injected(Fault::kLoadModule); !status.ok()) return WithContext(name, status);
  }
  TCC_ASSIGN_OR_RETURN(ModuleHandle* const module, DoLoadModule(bytes, name));
  ++modules_;
  return module;
}

void ComputeDevice::UnloadModule(ModuleHandle* module) {
  if (module == nullptr) return;
  DoUnloadModule(module);
  --modules_;
}

absl::StatusOr<GraphHandle*> ComputeDevice::EndCapture(StreamHandle* stream) {
  // (The capture is ended in any case.)
  TCC_ASSIGN_OR_RETURN(GraphHandle* const graph, DoEndCapture(stream));
  ++graphs_;
  if (armed_) {
    if (absl::Status status = Injected(Fault::kGraph); !status.ok()) {
      DestroyGraph(graph);
      return status;
    }
  }
  return graph;
}

absl::Status ComputeDevice::LaunchGraph(GraphHandle* graph, StreamHandle* stream) {
  if (armed_) TCC_RETURN_IF_ERROR(Injected(Fault::kLaunch));
  ++graph_launches_;
  return DoLaunchGraph(graph, stream);
}

void ComputeDevice::DestroyGraph(GraphHandle* graph) {
  if (graph == nullptr) return;
  DoDestroyGraph(graph);
  --graphs_;
}

Counters ComputeDevice::counters() const {
  return {allocations_, bytes_,    streams_, events_,         modules_,          graphs_,
          peak_bytes_,  launches_, copies_,  graph_launches_, synchronisations_, total_allocations_};
}

}  // namespace tcc::devices
