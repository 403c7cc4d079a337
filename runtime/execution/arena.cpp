#include "runtime/execution/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/execution/device_state.h"
#include "runtime/status.h"

namespace tcc {
namespace {

constexpr int64_t kSlack = 64;

void* AllocateSlotMemory(int64_t bytes) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const int64_t unit = huge ? kHugePage : 64;
  const int64_t rounded = (bytes + kSlack + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(static_cast<size_t>(unit), static_cast<size_t>(rounded));
  if (memory != nullptr && huge) madvise(memory, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

Arena::~Arena() {
  for (const Slot& slot : slots_) Free(slot.memory, slot.capacity);
  for (const auto& [memory, bytes] : retired_) Free(memory, bytes);
}

absl::StatusOr<void*> Arena::Allocate(int64_t bytes) {
  if (pool_ != nullptr) return pool_->AllocateMemory(bytes);
  void* const memory = AllocateSlotMemory(bytes);
  if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  return memory;
}

void Arena::Free(void* memory, int64_t bytes) {
  if (pool_ != nullptr) {
    pool_->device().Free(memory, bytes);
  } else {
    std::free(memory);
  }
}

absl::Status Arena::Resize(int32_t id, int64_t size) {
  Slot& slot = slots_[static_cast<size_t>(id)];
  if (size < 0 || size > kMaxBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("memory slot ", id, " of ", size, " bytes"));
  }
  if (size > slot.capacity || slot.memory == nullptr) {
    if (pool_ != nullptr && !slot.ready && slot.memory != nullptr) {
      // Nothing of this call refers to it, and earlier ones are done: not two at a time on a device.
      Free(slot.memory, slot.capacity);
      generation_ += slot.pinned;
      bytes_ -= slot.capacity;
      slot.memory = nullptr;
      slot.capacity = 0;
    }
    TCC_ASSIGN_OR_RETURN(void* const memory, Allocate(size));
    if (slot.memory != nullptr) retired_.emplace_back(slot.memory, slot.capacity);
    // (On the host static values lie in slots of static size, which are allocated once: none of them has moved.)
    generation_ += slot.pinned;
    slot.memory = memory;
    bytes_ += size - slot.capacity;
    slot.capacity = size;
  }
  slot.size = size;
  slot.ready = true;
  return absl::OkStatus();
}

absl::Status Arena::DoesNotFit(int32_t id, int64_t offset, int64_t bytes) const {
  return absl::InternalError(absl::StrCat("a tensor of ", bytes, " bytes at ", offset, " does not fit into slot ", id,
                                          " of ", slots_[static_cast<size_t>(id)].size, " bytes"));
}

void Arena::EndCall() {
  for (Slot& slot : slots_) slot.ready = false;
  for (const auto& [memory, bytes] : retired_) Free(memory, bytes);
  retired_.clear();
}

}  // namespace tcc
