#include "runtime/devices/sim/block_runner.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/devices/sim/checker.h"

namespace tcc::sim {
namespace {

thread_local SimThread* current_thread = nullptr;
thread_local BlockRunner* current_runner = nullptr;

// A block in which nothing but waiting loops ran for so many rounds waits for ever.
constexpr unsigned kIdleRounds = 10000;

std::string Lanes(unsigned mask) {
  std::string text;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kWarpSize && (mask >> (last + 1) & 1) != 0) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", lane);
    if (last > lane) absl::StrAppend(&text, "-", last);
    lane = last;
  }
  return text;
}

}  // namespace

SimThread& CurrentThread() { return *current_thread; }
BlockRunner& CurrentRunner() { return *current_runner; }

BlockRunner& BlockRunner::OfThisThread() {
  thread_local std::unique_ptr<BlockRunner> runner;
  if (!runner) runner = std::make_unique<BlockRunner>();
  return *runner;
}

BlockRunner::BlockRunner()
    : fibers_([](void* self, Fiber& fiber) { static_cast<BlockRunner*>(self)->RunFiber(fiber); }, this) {
  void* memory =
      mmap(nullptr, kStaticSharedEnd, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) shared_ = static_cast<char*>(memory);
}

BlockRunner::~BlockRunner() {
  if (shared_ != nullptr) munmap(shared_, kStaticSharedEnd);
}

void BlockRunner::Prepare(TccSimIndex block) {
  const TccSimIndex dim = launch_->block;
  const unsigned count = dim.x * dim.y * dim.z;
  threads_.resize(count);
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
  for (unsigned i = 0; i < count; ++i) {
    SimThread& thread = threads_[i];
    thread.index = {{i % dim.x, i / dim.x % dim.y, i / (dim.x * dim.y)}, block, dim, launch_->grid, i};
    thread.lane = i % kWarpSize;
    thread.warp = i / kWarpSize;
    thread.fiber = nullptr;
    thread.copies.clear();
    thread.copy_group = 0;
    thread.bulk_stores.clear();
    thread.bulk_group = 0;
    thread.awaited = nullptr;
  }
  for (unsigned w = 0; w < warps_.size(); ++w) {
    WarpState& warp = warps_[w];
    const unsigned lanes = std::min(kWarpSize, count - w * kWarpSize);
    warp.lanes = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
    warp.fresh = warp.lanes;
    warp.ready = warp.yielded = warp.exited = 0;
    warp.groups.clear();
  }
  for (BarrierState& barrier : barriers_) barrier.arrived.clear();
  barriers_in_use_ = 0;
  bulk_loads_.clear();
  live_ = count;
  idle_rounds_ = 0;
  problem_.reset();
  std::memset(shared_, kSharedPoison, launch_->shared_bytes);
  poisoned_ = launch_->shared->end();
  std::memset(shared_ + kStaticSharedStart, kSharedPoison, poisoned_ - kStaticSharedStart);
}

std::optional<std::string> BlockRunner::Run(const LaunchState& launch, TccSimIndex block) {
  if (shared_ == nullptr) return "there is no memory for the shared memory of a block";
  launch_ = &launch;
  current_runner = this;
  Prepare(block);
  if (launch.checker != nullptr) launch.checker->StartBlock(*this);
  while (live_ > 0) {
    bool moved = false;
    for (unsigned w = 0; w < warps_.size(); ++w) {
      WarpState& warp = warps_[w];
      current_warp_ = w;
      while ((warp.fresh | warp.ready) != 0) {
        moved = true;
        Fiber* fiber;
        if (warp.fresh != 0) {  // RunFiber picks the thread
          fiber = fibers_.Take();
          if (fiber == nullptr) {
            fibers_.AbandonAll();
            return "there is no memory for the stacks of the threads";
          }
        } else {
          const unsigned lane = std::countr_zero(warp.ready);
          warp.ready &= warp.ready - 1;
          current_thread = &threads_[w * kWarpSize + lane];
          fiber = current_thread->fiber;
        }
        finished_ = nullptr;
        fiber->Resume();
        if (finished_ != nullptr) fibers_.Give(finished_);
        if (problem_) {
          fibers_.AbandonAll();
          return problem_;
        }
      }
    }
    if (!moved && live_ > 0 && !WakeYielded()) {
      fibers_.AbandonAll();
      return DescribeStuck();
    }
    if (problem_) {
      fibers_.AbandonAll();
      return problem_;
    }
  }
  if (!bulk_loads_.empty()) return "a block returns while bulk copies into its shared memory are under way";
  return std::nullopt;
}

bool BlockRunner::WakeYielded() {
  FinishBulkLoads();
  if (++idle_rounds_ > kIdleRounds) return false;
  bool any = false;
  for (unsigned w = 0; w < warps_.size(); ++w) {
    for (unsigned lanes = warps_[w].yielded; lanes != 0; lanes &= lanes - 1) {
      const unsigned bit = lanes & -lanes;
      const SimThread& thread = threads_[w * kWarpSize + std::countr_zero(bit)];
      if (thread.awaited != nullptr && !MbarrierDone(thread)) continue;
      any = true;
      warps_[w].ready |= bit;
      warps_[w].yielded &= ~bit;
    }
  }
  return any;
}

// Threads that neither wait nor stop follow each other on one stack, without a switch.
void BlockRunner::RunFiber(Fiber& fiber) {
  WarpState& warp = warps_[current_warp_];
  while (warp.fresh != 0 && !problem_) {
    const unsigned lane = std::countr_zero(warp.fresh);
    warp.fresh &= warp.fresh - 1;
    SimThread& thread = threads_[current_warp_ * kWarpSize + lane];
    thread.fiber = &fiber;
    current_thread = &thread;
    launch_->kernel->entry(launch_->params);
    OnExit(thread);
  }
  finished_ = &fiber;
}

void BlockRunner::Wait(SimThread& thread) { thread.fiber->Suspend(); }

void BlockRunner::OnExit(SimThread& thread) {
  if (launch_->checker != nullptr) launch_->checker->Exit();
  if (!thread.bulk_stores.empty()) {
    FailFor(thread, "the thread returns before its bulk copies have read shared memory (cp.async.bulk.wait_group)",
            thread.bulk_stores.front().pc);
  }
  --live_;
  idle_rounds_ = 0;
  WarpState& warp = warps_[thread.warp];
  warp.exited |= 1u << thread.lane;
  for (size_t g = warp.groups.size(); g-- > 0;) TryGroup(warp, g, nullptr);
  for (unsigned ids = barriers_in_use_; ids != 0; ids &= ids - 1) {
    TryBarrier(static_cast<unsigned>(std::countr_zero(ids)), nullptr);
  }
}

int BlockRunner::Barrier(unsigned id, unsigned count, int reduction, int value, const void* pc) {
  SimThread& thread = *current_thread;
  if (id >= 16) Fail(absl::StrCat("barrier ", id, ": there are 16"), pc);
  if (count % kWarpSize != 0) Fail(absl::StrCat("a barrier for ", count, " threads: must be whole warps"), pc);
  BarrierState& barrier = barriers_[id];
  if (barrier.arrived.empty()) {
    barrier.count = count;
    barrier.reduction = reduction;
  } else if (barrier.count != count ||
             (reduction != kTccSimArrive && barrier.reduction != kTccSimArrive && barrier.reduction != reduction)) {
    Fail(absl::StrCat("threads meet at barrier ", id, " as different operations: another one came at ",
                      At(barrier.arrived.front().pc)),
         pc);
  }
  const bool waits = reduction != kTccSimArrive;
  if (!waits && count == 0) Fail("a thread that does not wait must say for how many threads the barrier is", pc);
  if (waits) barrier.reduction = reduction;
  thread.pc = pc;
  thread.value = value;
  barrier.arrived.push_back({&thread, pc, waits});
  barriers_in_use_ |= 1u << id;
  idle_rounds_ = 0;
  if (!TryBarrier(id, &thread) && waits) Wait(thread);
  return thread.value;
}

bool BlockRunner::TryBarrier(unsigned id, SimThread* current) {
  BarrierState& barrier = barriers_[id];
  if (barrier.arrived.empty() || barrier.arrived.size() < (barrier.count != 0 ? barrier.count : live_)) return false;
  // bar.sync is one instruction that a whole warp executes.
  const void* warp_pc[1024 / kWarpSize] = {};
  unsigned warp_lanes[1024 / kWarpSize] = {};
  int result = barrier.reduction == kTccSimAnd ? 1 : 0;
  for (const Arrival& arrival : barrier.arrived) {
    const SimThread& thread = *arrival.thread;
    const void*& pc = warp_pc[thread.warp];
    if (pc == nullptr) pc = arrival.pc;
    if (pc != arrival.pc) {
      SetProblem(
          thread,
          absl::StrCat("divergent barrier: threads of one warp meet at different barriers, the other one at ", At(pc)),
          arrival.pc);
      if (current != nullptr) current->fiber->Suspend();
      return false;
    }
    warp_lanes[thread.warp] |= 1u << thread.lane;
    switch (barrier.reduction) {
      case kTccSimCount:
        result += thread.value != 0;
        break;
      case kTccSimAnd:
        result &= thread.value != 0;
        break;
      case kTccSimOr:
        result |= thread.value != 0;
        break;
      default:
        break;
    }
  }
  for (const Arrival& arrival : barrier.arrived) {
    if (!arrival.waits) continue;
    arrival.thread->value = result;
    if (arrival.thread != current) warps_[arrival.thread->warp].ready |= 1u << arrival.thread->lane;
  }
  if (launch_->checker != nullptr) launch_->checker->Barrier(warp_lanes, warps_.size());
  barrier.arrived.clear();
  barriers_in_use_ &= ~(1u << id);
  return true;
}

void BlockRunner::Warp(const TccSimWarpOp* op, unsigned mask, void* payload, const void* pc) {
  SimThread& thread = *current_thread;
  WarpState& warp = warps_[thread.warp];
  const unsigned bit = 1u << thread.lane;
  if ((mask & bit) == 0)
    Fail(absl::StrFormat("%s: the mask 0x%08x does not name the calling lane %d", op->name, mask, thread.lane), pc);
  mask &= warp.lanes;
  size_t g = 0;
  while (g < warp.groups.size() &&
         !(warp.groups[g].op == op && warp.groups[g].mask == mask && (warp.groups[g].arrived & bit) == 0)) {
    ++g;
  }
  if (g == warp.groups.size()) {
    warp.groups.emplace_back();
    warp.groups[g].op = op;
    warp.groups[g].mask = mask;
  }
  WarpGroup& group = warp.groups[g];
  group.arrived |= bit;
  group.payloads[thread.lane] = payload;
  group.pcs[thread.lane] = thread.pc = pc;
  idle_rounds_ = 0;
  if (!TryGroup(warp, g, &thread)) Wait(thread);
}

bool BlockRunner::TryGroup(WarpState& warp, size_t g, SimThread* current) {
  WarpGroup& group = warp.groups[g];
  if ((group.mask & ~warp.exited) != group.arrived) return false;
  const unsigned arrived = group.arrived;
  const unsigned first = std::countr_zero(arrived);
  const unsigned first_thread = static_cast<unsigned>(&warp - warps_.data()) * kWarpSize;
  void* payloads[kWarpSize] = {};
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((arrived >> lane & 1) == 0) continue;
    payloads[lane] = group.payloads[lane];
    if ((group.op->flags & kTccSimAligned) != 0 && group.pcs[lane] != group.pcs[first]) {
      SetProblem(threads_[first_thread + lane],
                 absl::StrCat("divergent ", group.op->name, ": other lanes of the warp execute the one at ",
                              At(group.pcs[first])),
                 group.pcs[lane]);
      if (current != nullptr) current->fiber->Suspend();
      return false;
    }
  }
  if (const char* error = group.op->combine(payloads, arrived)) {
    SetProblem(threads_[first_thread + first], absl::StrCat(group.op->name, ": ", error), group.pcs[first]);
    if (current != nullptr) current->fiber->Suspend();
    return false;
  }
  if ((group.op->flags & kTccSimOrdersMemory) != 0 && launch_->checker != nullptr) {
    launch_->checker->SyncWarp(static_cast<unsigned>(&warp - warps_.data()));
  }
  warp.ready |= current != nullptr ? arrived & ~(1u << current->lane) : arrived;
  warp.groups.erase(warp.groups.begin() + static_cast<std::ptrdiff_t>(g));
  return true;
}

void BlockRunner::Yield(const void* pc) {
  SimThread& thread = *current_thread;
  thread.pc = pc;
  warps_[thread.warp].yielded |= 1u << thread.lane;
  Wait(thread);
}

void* BlockRunner::SharedVariable(TccSimShared* variable) {
  const size_t offset = launch_->shared->Place(variable);
  if (offset == 0) Fail("there is no room for a shared variable", __builtin_return_address(0));
  if (const size_t end = offset + variable->bytes; end > poisoned_) {
    std::memset(shared_ + poisoned_, kSharedPoison, end - poisoned_);
    poisoned_ = end;
    if (launch_->checker != nullptr) launch_->checker->NewSharedVariable();
  }
  return shared_ + offset;
}

void BlockRunner::Access(const void* address, size_t bytes, unsigned kind, bool aligned, const void* pc) {
  if (aligned && reinterpret_cast<uintptr_t>(address) % bytes != 0) {
    Fail(absl::StrFormat("misaligned %s of %d bytes at %p", kind == kTccSimRead ? "read" : "write", bytes, address),
         pc);
  }
  if (launch_->checker != nullptr) launch_->checker->Access(*current_thread, address, bytes, kind, pc);
}

void BlockRunner::Fence(bool device) {
  if (launch_->checker != nullptr) launch_->checker->Fence(device);
}

void BlockRunner::SetProblem(const SimThread& thread, absl::string_view message, const void* pc) {
  const TccSimIndex b = thread.index.block, t = thread.index.thread;
  problem_ =
      absl::StrFormat("block (%d, %d, %d), thread (%d, %d, %d), %s: %s", b.x, b.y, b.z, t.x, t.y, t.z, At(pc), message);
}

void BlockRunner::Fail(absl::string_view message, const void* pc) { FailFor(*current_thread, message, pc); }

void BlockRunner::FailFor(const SimThread& thread, absl::string_view message, const void* pc) {
  SetProblem(thread, message, pc);
  current_thread->fiber->Suspend();
  std::abort();  // never resumed
}

// Who waits where, when no thread can go on.
std::string BlockRunner::DescribeStuck() const {
  const TccSimIndex b = threads_.front().index.block;
  std::string text =
      absl::StrFormat("block (%d, %d, %d): divergent collective operations, no thread can go on", b.x, b.y, b.z);
  unsigned waiting[1024 / kWarpSize] = {};
  int lines = 0;
  const auto add = [&](unsigned warp, unsigned lanes, absl::string_view what, const void* pc) {
    waiting[warp] |= lanes;
    if (++lines <= 8) absl::StrAppend(&text, "\n  warp ", warp, ", lanes ", Lanes(lanes), ": ", what, " at ", At(pc));
  };
  for (unsigned w = 0; w < warps_.size(); ++w) {
    for (const WarpGroup& group : warps_[w].groups) {
      add(w, group.arrived,
          absl::StrFormat("%s with mask 0x%08x, waiting for lanes %s", group.op->name, group.mask,
                          Lanes(group.mask & ~warps_[w].exited & ~group.arrived)),
          group.pcs[std::countr_zero(group.arrived)]);
    }
    for (unsigned id = 0; id < 16; ++id) {
      unsigned lanes = 0;
      const void* pc = nullptr;
      for (const Arrival& arrival : barriers_[id].arrived) {
        if (arrival.thread->warp != w || !arrival.waits) continue;
        lanes |= 1u << arrival.thread->lane;
        pc = arrival.pc;
      }
      if (lanes != 0)
        add(w, lanes, id == 0 ? "__syncthreads" : absl::StrCat("barrier ", id, " (", barriers_[id].count, " threads)"),
            pc);
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      if ((warps_[w].lanes >> lane & 1) == 0 || threads_[w * kWarpSize + lane].awaited == nullptr) continue;
      const SimThread& thread = threads_[w * kWarpSize + lane];
      add(w, 1u << lane, absl::StrCat("the phase of parity ", thread.parity, " of an mbarrier"), thread.pc);
    }
    const unsigned looping = warps_[w].lanes & ~warps_[w].exited & ~waiting[w];
    if (looping != 0)
      add(w, looping, "a loop that waits for memory", threads_[w * kWarpSize + std::countr_zero(looping)].pc);
    if (warps_[w].exited != 0 && waiting[w] != 0 && ++lines <= 8) {
      absl::StrAppend(&text, "\n  warp ", w, ", lanes ", Lanes(warps_[w].exited), ": have returned");
    }
  }
  if (lines > 8) absl::StrAppend(&text, "\n  and ", lines - 8, " more");
  return text;
}

}  // namespace tcc::sim
