// What goes on beside the threads of a block: cp.async, mbarriers and bulk copies.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/devices/sim/block_runner.h"
#include "runtime/devices/sim/checker.h"
#include "runtime/devices/sim/mbarrier.h"

namespace tcc::sim {

void BlockRunner::AsyncCopyStart(void* to, const void* from, unsigned bytes, unsigned source_bytes, const void* pc) {
  SimThread& thread = CurrentThread();
  if (bytes != 4 && bytes != 8 && bytes != 16) Fail(absl::StrCat("cp.async of ", bytes, " bytes: 4, 8 or 16"), pc);
  if (source_bytes > bytes) Fail(absl::StrCat("cp.async reads ", source_bytes, " bytes and writes ", bytes), pc);
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 || reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    Fail(absl::StrFormat("misaligned cp.async of %d bytes from %p to %p", bytes, from, to), pc);
  }
  if (!IsShared(to)) Fail(absl::StrFormat("cp.async to %p, not shared memory", to), pc);
  if (source_bytes > 0) Access(from, source_bytes, kTccSimRead, false, pc);
  thread.copies.push_back({to, from, bytes, source_bytes, thread.copy_group, pc});
}

void BlockRunner::AsyncCommit() { ++CurrentThread().copy_group; }

void BlockRunner::AsyncWait(unsigned pending, const void* pc) {
  SimThread& thread = CurrentThread();
  // ~0u: those that were not committed, too (cp.async.wait_all).
  if (pending == ~0u) ++thread.copy_group;
  const unsigned done = pending == ~0u ? thread.copy_group : thread.copy_group - std::min(pending, thread.copy_group);
  size_t i = 0;
  for (; i < thread.copies.size() && thread.copies[i].group < done; ++i) {
    const AsyncCopy& copy = thread.copies[i];
    Access(copy.to, copy.bytes, kTccSimWrite, true, copy.pc);
    std::memcpy(copy.to, copy.from, copy.source_bytes);
    std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(i));
}

int BlockRunner::MbarrierStep(unsigned op, void* barrier, unsigned argument, const void* pc) {
  SimThread& thread = CurrentThread();
  if (reinterpret_cast<uintptr_t>(barrier) % 8 != 0 || !IsShared(barrier)) {
    Fail(absl::StrFormat("an mbarrier at %p: not 8-byte aligned shared memory", barrier), pc);
  }
  auto& word = *static_cast<uint64_t*>(barrier);
  idle_rounds_ = 0;
  if (op == kTccSimMbarrierInit) {
    if (argument == 0 || argument > Mbarrier::kFieldMask)
      Fail(absl::StrCat("an mbarrier for ", argument, " arrivals"), pc);
    Access(barrier, 8, kTccSimWrite, true, pc);
    Mbarrier fresh;
    fresh.expected = fresh.pending = argument;
    word = fresh.Pack();
    return 0;
  }
  Mbarrier state;
  if (!Mbarrier::Unpack(word, state)) Fail("an mbarrier that was not initialised", pc);
  Access(barrier, 8, kTccSimAtomicUpdate, true, pc);
  const unsigned phase = state.phase;
  switch (op) {
    case kTccSimMbarrierExpectBytes:
      state.bytes += argument;
      word = state.Pack();
      return 0;
    case kTccSimMbarrierArrive:
      if (state.pending == 0)
        Fail(absl::StrCat("more than the ", state.expected, " arrivals of a phase of an mbarrier"), pc);
      if (launch_->checker != nullptr) launch_->checker->Release(thread.warp, barrier);
      state.bytes += argument;
      --state.pending;
      state.Advance();
      word = state.Pack();
      return static_cast<int>(phase);
    case kTccSimMbarrierInvalidate:
      word = ~uint64_t{0};
      return 0;
    default:
      break;
  }
  // The phase with this parity is over when the current one has the other parity.
  thread.awaited = &word;
  thread.parity = argument & 1;
  while (phase == thread.parity && !MbarrierDone(thread)) {
    if (op == kTccSimMbarrierTest) {
      thread.awaited = nullptr;
      return 0;
    }
    thread.pc = pc;
    warps_[thread.warp].yielded |= 1u << thread.lane;
    Wait(thread);
  }
  thread.awaited = nullptr;
  if (launch_->checker != nullptr) launch_->checker->Acquire(thread.warp, barrier);
  return 1;
}

bool BlockRunner::MbarrierDone(const SimThread& thread) {
  Mbarrier state;
  return Mbarrier::Unpack(*thread.awaited, state) && state.phase != thread.parity;
}

void BlockRunner::CheckMbarrier(void* mbarrier, const void* pc) {
  Mbarrier state;
  if (!IsShared(mbarrier) || !Mbarrier::Unpack(*static_cast<uint64_t*>(mbarrier), state)) {
    Fail("cp.async.bulk with an mbarrier that was not initialised", pc);
  }
}

// PTX ISA, "Tensor-maps" and "Swizzling modes".
void BlockRunner::TensorLoadStart(void* to, const TccSimTensorMap& map, const int* coordinates, void* mbarrier,
                                  const void* pc) {
  if (!IsShared(to)) Fail(absl::StrFormat("cp.async.bulk.tensor to %p, not shared memory", to), pc);
  // The exchange goes by addresses, and repeats after eight of its lines.
  const unsigned align = std::max(128u, map.swizzle * 8);
  if ((static_cast<char*>(to) - static_cast<char*>(DynamicShared())) % align != 0) {
    Fail(absl::StrFormat(
             "cp.async.bulk.tensor to %p: not a multiple of %d bytes from the start of dynamic shared memory", to,
             align),
         pc);
  }
  CheckMbarrier(mbarrier, pc);
  BulkLoad load = {to, nullptr, 0, static_cast<uint64_t*>(mbarrier), CurrentThread().warp, {}, map.swizzle};
  const unsigned line_bytes = map.box[0] * map.element_bytes;
  unsigned lines = 1;
  for (unsigned d = 1; d < map.rank; ++d) lines *= map.box[d];
  load.bytes = lines * line_bytes;
  // What of each line the tensor has.
  const int64_t begin = std::max<int64_t>(0, -int64_t{coordinates[0]});
  const int64_t end = std::min<int64_t>(map.box[0], static_cast<int64_t>(map.extents[0]) - coordinates[0]);
  for (unsigned line = 0; line < lines; ++line) {
    const char* from = static_cast<const char*>(map.base);
    bool there = begin < end;
    unsigned rest = line;
    for (unsigned d = 1; d < map.rank; ++d) {
      const int64_t at = int64_t{coordinates[d]} + rest % map.box[d];
      rest /= map.box[d];
      there &= at >= 0 && at < static_cast<int64_t>(map.extents[d]);
      from += at * static_cast<int64_t>(map.strides[d - 1]);
    }
    if (!there) {
      load.lines.push_back({nullptr, line_bytes, 0});
      continue;
    }
    const auto before = static_cast<unsigned>(begin) * map.element_bytes;
    const auto bytes = static_cast<unsigned>(end - begin) * map.element_bytes;
    from += (coordinates[0] + begin) * map.element_bytes;
    Access(from, bytes, kTccSimRead, false, pc);
    load.lines.push_back({from, before, bytes});
  }
  Access(to, load.bytes, kTccSimWrite, false, pc);
  bulk_loads_.push_back(std::move(load));
}

// Of the k-th line of a tile: 16-byte pieces change places by bits 7 and up of their address.
void BlockRunner::CopyLines(const BulkLoad& load) {
  const auto line_bytes = static_cast<unsigned>(load.bytes / load.lines.size());
  const auto start = static_cast<size_t>(static_cast<char*>(load.to) - static_cast<char*>(DynamicShared()));
  std::vector<char> line(line_bytes);
  for (size_t k = 0; k < load.lines.size(); ++k) {
    const TileLine& part = load.lines[k];
    std::fill(line.begin(), line.end(), 0);
    if (part.bytes > 0) std::memcpy(line.data() + part.before, part.from, part.bytes);
    for (unsigned piece = 0; piece < line_bytes; piece += 16) {
      const size_t at = start + k * line_bytes + piece;
      const size_t place = load.swizzle == 0 ? at : at ^ (at >> 3 & (load.swizzle - 16));
      std::memcpy(static_cast<char*>(DynamicShared()) + place, line.data() + piece, 16);
    }
  }
}

void BlockRunner::BulkCopyStart(void* to, const void* from, unsigned bytes, void* mbarrier, const void* pc) {
  SimThread& thread = CurrentThread();
  if (bytes % 16 != 0 || reinterpret_cast<uintptr_t>(to) % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) {
    Fail(absl::StrFormat("misaligned cp.async.bulk of %d bytes from %p to %p: all must be multiples of 16", bytes, from,
                         to),
         pc);
  }
  const bool load = mbarrier != nullptr;
  if (IsShared(to) != load || IsShared(from) == load) {
    Fail(load ? "cp.async.bulk with an mbarrier copies from global to shared memory"
              : "cp.async.bulk in groups copies from shared to global memory",
         pc);
  }
  if (load) CheckMbarrier(mbarrier, pc);
  if (bytes > 0) {
    Access(from, bytes, kTccSimRead, false, pc);
    Access(to, bytes, kTccSimWrite, false, pc);
  }
  if (load) {
    bulk_loads_.push_back({to, from, bytes, static_cast<uint64_t*>(mbarrier), thread.warp, {}, 0});
  } else {
    thread.bulk_stores.push_back({to, from, bytes, bytes, thread.bulk_group, pc});
  }
}

// As late as can be: no thread goes on before they are there.
bool BlockRunner::FinishBulkLoads() {
  if (bulk_loads_.empty()) return false;
  for (const BulkLoad& load : bulk_loads_) {
    if (load.lines.empty())
      std::memcpy(load.to, load.from, load.bytes);
    else
      CopyLines(load);
    Mbarrier state;
    if (!Mbarrier::Unpack(*load.mbarrier, state)) continue;
    if (launch_->checker != nullptr) launch_->checker->Release(load.warp, load.mbarrier);
    state.bytes -= load.bytes;
    state.Advance();
    *load.mbarrier = state.Pack();
  }
  bulk_loads_.clear();
  return true;
}

void BlockRunner::BulkCommit() { ++CurrentThread().bulk_group; }

void BlockRunner::BulkWait(unsigned pending) {
  SimThread& thread = CurrentThread();
  const unsigned done = thread.bulk_group - std::min(pending, thread.bulk_group);
  size_t i = 0;
  for (; i < thread.bulk_stores.size() && thread.bulk_stores[i].group < done; ++i) {
    const AsyncCopy& copy = thread.bulk_stores[i];
    std::memcpy(copy.to, copy.from, copy.bytes);
  }
  thread.bulk_stores.erase(thread.bulk_stores.begin(), thread.bulk_stores.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace tcc::sim
