// Memory of temporaries, where a plan says which share it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tcc {

class DevicePool;

// More than any machine has, and far from where sums of sizes overflow.
inline constexpr int64_t kMaxBytes = int64_t{1} << 56;

// Memory slots: kept between calls, grown when a call needs more. On the host, of one plan; or on a device, where plans
// whose calls never run at the same time share them.
class Arena {
 public:
  explicit Arena(size_t slots, std::shared_ptr<DevicePool> pool = nullptr) : slots_(slots), pool_(std::move(pool)) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Memory for `bytes` at `offset` in a slot whose size in this call is `size()`. `may_change`: it may be another one
  // later in the same call.
  template <typename Size>
  absl::StatusOr<char*> Get(int32_t slot, int64_t offset, int64_t bytes, bool may_change, Size size) {
    Slot& s = slots_[static_cast<size_t>(slot)];
    if (!s.ready || may_change) {
      if (absl::Status status = Resize(slot, size()); !status.ok()) return status;
    }
    if (offset > s.size || bytes > s.size - offset) return DoesNotFit(slot, offset, bytes);
    return static_cast<char*>(s.memory) + offset;
  }
  // Another plan comes to use it, which has so many.
  void Reserve(size_t slots) {
    if (slots > slots_.size()) slots_.resize(slots);
  }
  // From now on the slot's address is written down somewhere.
  void Pin(int32_t slot) { slots_[static_cast<size_t>(slot)].pinned = true; }
  // Differs from what it was if the address of a pinned slot changed.
  uint64_t generation() const { return generation_; }

  // After a call: memory that was replaced goes.
  void EndCall();

  // Of all slots. May be asked from another thread than the call's.
  int64_t bytes() const { return bytes_; }
  // Of one slot, as it is.
  int64_t capacity(int32_t slot) const { return slots_[static_cast<size_t>(slot)].capacity; }

 private:
  struct Slot {
    void* memory = nullptr;
    int64_t capacity = 0;
    int64_t size = 0;    // in this call
    bool ready = false;  // `size` is known in this call
    bool pinned = false;
  };
  absl::Status Resize(int32_t slot, int64_t size);
  absl::StatusOr<void*> Allocate(int64_t bytes);
  void Free(void* memory, int64_t bytes);
  absl::Status DoesNotFit(int32_t slot, int64_t offset, int64_t bytes) const;

  std::vector<Slot> slots_;
  std::vector<std::pair<void*, int64_t>> retired_;  // memory that this call may still refer to, and its size
  std::shared_ptr<DevicePool> pool_;                // null: on the host
  uint64_t generation_ = 0;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace tcc
