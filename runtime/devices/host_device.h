// What the devices that are none share: memory of the host, streams that do everything at once, events that tell the
// time, graphs that are lists of launches.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "runtime/devices/device.h"

namespace tcc::devices {

class HostDevice : public ComputeDevice {
 public:
  ~HostDevice() override;
  absl::StatusOr<MemoryInfo> Memory() override;
  absl::Status Record(EventHandle* event, StreamHandle* stream) override;
  absl::Status Wait(StreamHandle* stream, EventHandle* event) override;
  absl::StatusOr<bool> IsDone(EventHandle* event) override;
  absl::StatusOr<double> Milliseconds(EventHandle* from, EventHandle* to) override;
  absl::Status BeginCapture(StreamHandle* stream) override;

 protected:
  // `memory_bytes`: what can be allocated; 0: as much as there is. `guard`: bytes before and behind each allocation
  // that Synchronize and Free find written; memory is filled with ones then (not-a-number).
  HostDevice(Kind kind, const std::string& name, Device id, int64_t memory_bytes, int64_t guard);

  absl::StatusOr<void*> DoAllocate(int64_t bytes) override;
  void DoFree(void* memory, int64_t bytes) override;
  absl::StatusOr<StreamHandle*> DoCreateStream() override;
  void DoDestroyStream(StreamHandle* stream) override;
  absl::Status DoSynchronize(StreamHandle* stream) override;
  absl::Status DoCopy(Direction direction, void* to, const void* from, int64_t bytes, StreamHandle* stream) override;
  absl::Status DoClear(void* memory, int64_t bytes, StreamHandle* stream) override;
  absl::StatusOr<EventHandle*> DoCreateEvent() override;
  void DoDestroyEvent(EventHandle* event) override;
  absl::Status DoLaunch(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params,
                        StreamHandle* stream) final;
  absl::StatusOr<GraphHandle*> DoEndCapture(StreamHandle* stream) override;
  absl::Status DoLaunchGraph(GraphHandle* graph, StreamHandle* stream) override;
  void DoDestroyGraph(GraphHandle* graph) override;

  // Runs a kernel to its end.
  virtual absl::Status Run(FunctionHandle* function, const LaunchShape& shape, absl::Span<void*> params) = 0;
  // Whether all of it lies in one allocation that has not been freed.
  bool IsAllocated(const void* memory, int64_t bytes);
  // Memory came, or went.
  virtual void Allocated(void* memory, int64_t bytes) {}
  virtual void Freed(void* memory) {}

 private:
  struct Stream;
  struct Graph;
  struct Block {
    int64_t bytes;
    void* base;
  };
  absl::Status RefuseCapture(StreamHandle* stream, absl::string_view what);
  absl::Status CheckGuards(const void* memory, const Block& block);

  const int64_t limit_, guard_;
  std::mutex mutex_;
  std::map<void*, Block> blocks_;  // guarded by mutex_
  int64_t used_ = 0;               // guarded by mutex_
  absl::Status damage_;            // found by Free; guarded by mutex_
};

}  // namespace tcc::devices
