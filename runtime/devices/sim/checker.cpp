#include "runtime/devices/sim/checker.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/devices/sim/block_runner.h"
#include "runtime/devices/sim/memory.h"
#include "runtime/devices/sim/race_shadow.h"

namespace tcc::sim {
namespace {

constexpr unsigned kMaxWarps = 1024 / kWarpSize;

const char* Verb(unsigned kind) {
  switch (kind) {
    case kTccSimRead:
    case kTccSimAtomicRead:
      return "reads";
    case kTccSimWrite:
      return "writes";
    default:
      return "atomically updates";
  }
}

}  // namespace

// Order between accesses of a block: a vector clock for each warp, joined at barriers; within a warp, a step at each
// __syncwarp. (Shuffles and votes order nothing, as CUDA says.) Order between blocks: a block that has executed
// __threadfence hands what it did to whoever updates or reads the same address atomically after it did.
struct Checker::Impl {
  const TccSimModule& module;
  const bool uninitialised_shared;
  BlockRunner* runner = nullptr;

  struct Region {
    MemoryRange range;
    std::unique_ptr<RaceShadow> shadow;
  };
  std::vector<Region> regions;  // by address
  size_t last_region = 0;
  RaceShadow shared{kStaticSharedEnd};
  std::vector<SharedLayout::Variable> variables;  // of shared memory, by offset

  std::vector<Segment> segments;
  uint64_t blocks_started = 0;  // of the current block: its number, from one
  unsigned warps = 0;
  uint32_t clocks[kMaxWarps][kMaxWarps];
  uint32_t steps[kMaxWarps];
  uint32_t current[kMaxWarps];  // segment of each warp, plus one

  std::map<const void*, std::vector<uint32_t>> released;  // by mbarrier: the joined clocks of who arrived there

  uint32_t block_clock = 0;
  bool fenced = false;
  using Known = std::unordered_map<uint64_t, uint32_t>;  // block: what of it is before this, in its clock
  Known known;
  std::unordered_map<uintptr_t, Known> handed;  // by address of the atomic variable

  // A write after an unordered write, whose value is not known yet: both are harmless if they are the same.
  struct Suspect {
    std::string message;
    const void* address;
    const void* pc;
    size_t bytes;
    unsigned thread;
    unsigned char before[16];
  };
  std::unique_ptr<Suspect> suspect;

  Impl(const Kernel& kernel, const LaunchOptions& options)
      : module(*kernel.module), uninitialised_shared(options.uninitialised_shared) {
    for (const MemoryRange& range : options.buffers.empty() ? RegisteredMemory() : Disjoint(options.buffers)) {
      regions.push_back({range, nullptr});
    }
  }

  void NewSegment(unsigned warp) {
    segments.push_back({blocks_started, warp, clocks[warp][warp], steps[warp], block_clock});
    current[warp] = static_cast<uint32_t>(segments.size());
  }

  bool Ordered(const PastAccess& past, const SimThread& thread) const {
    const Segment& segment = segments[past.segment - 1];
    if (segment.block == blocks_started) {
      if (past.thread == thread.index.linear) return true;
      if (segment.warp == thread.warp) return segment.step != steps[thread.warp];
      return clocks[thread.warp][segment.warp] >= segment.clock;
    }
    const auto it = known.find(segment.block);
    return it != known.end() && it->second > segment.block_clock;
  }

  std::string Describe(const PastAccess& past) const {
    const Segment& segment = segments[past.segment - 1];
    const TccSimIndex dim = runner->launch().block, grid = runner->launch().grid;
    const unsigned t = past.thread;
    std::string text = absl::StrFormat("thread (%d, %d, %d)", t % dim.x, t / dim.x % dim.y, t / (dim.x * dim.y));
    if (segment.block != blocks_started) {
      const uint64_t b = segment.block - 1;
      absl::StrAppend(&text, absl::StrFormat(" of block (%d, %d, %d)", b % grid.x, b / grid.x % grid.y,
                                             b / (uint64_t{grid.x} * grid.y)));
    }
    return absl::StrCat(text, " at ", At(static_cast<const char*>(module.begin) + past.pc));
  }

  // The race of an access with an earlier one, as a message; empty: there is none.
  std::string Race(const PastAccess& past, const char* did, const SimThread& thread, const void* address, size_t bytes,
                   unsigned kind, bool is_shared) const {
    if (past.segment == 0) return "";
    const bool same_block = segments[past.segment - 1].block == blocks_started;
    if ((is_shared && !same_block) || Ordered(past, thread)) return "";
    return absl::StrFormat("race: %s %d bytes of %s memory at %p, which %s %s, %s", Verb(kind), bytes,
                           is_shared ? "shared" : "global", address, Describe(past), did,
                           same_block ? "with no barrier in between" : "another block that runs at the same time");
  }

  void CheckRaces(RaceShadow& shadow, size_t offset, const SimThread& thread, const void* address, size_t bytes,
                  unsigned kind, bool is_shared, const void* pc) {
    const bool atomic = kind == kTccSimAtomicUpdate || kind == kTccSimAtomicRead;
    const bool writes = kind == kTccSimWrite || kind == kTccSimAtomicUpdate;
    const PastAccess now = {
        current[thread.warp], static_cast<uint16_t>(thread.index.linear), static_cast<uint16_t>(atomic),
        static_cast<uint32_t>(static_cast<const char*>(pc) - static_cast<const char*>(module.begin))};
    std::string message;
    bool overwrites = false, initialised = !is_shared || kind == kTccSimWrite;
    shadow.ForEach(offset, bytes, [&](ShadowCell& cell) {
      for (const PastAccess* past : {&cell.write, &cell.update}) {
        initialised |= past->segment != 0 && segments[past->segment - 1].block == blocks_started;
      }
      message = Race(cell.write, "wrote", thread, address, bytes, kind, is_shared);
      overwrites = kind == kTccSimWrite && !message.empty();
      if (message.empty() && !atomic) message = Race(cell.update, "updated", thread, address, bytes, kind, is_shared);
      for (const PastAccess& read : cell.reads) {
        if (!writes || !message.empty()) break;
        if (!(atomic && read.atomic != 0)) message = Race(read, "read", thread, address, bytes, kind, is_shared);
      }
      if (writes) {
        (atomic ? cell.update : cell.write) = now;
        if (!atomic) cell.reads[0] = cell.reads[1] = {};
      } else if (cell.reads[0].segment == 0 || cell.reads[0].thread == now.thread ||
                 segments[cell.reads[0].segment - 1].block != blocks_started) {
        cell.reads[0] = now;
      } else {
        cell.reads[1] = now;
      }
      return message.empty();
    });
    if (!message.empty()) {
      if (!overwrites || bytes > sizeof(Suspect::before)) runner->Fail(message, pc);
      suspect = std::make_unique<Suspect>(Suspect{std::move(message), address, pc, bytes, thread.index.linear, {}});
      std::memcpy(suspect->before, address, bytes);
    } else if (!initialised && uninitialised_shared) {
      runner->Fail(absl::StrFormat("%s %d bytes of shared memory that no thread of the block has written yet: it is "
                                   "never written, or a barrier is missing",
                                   Verb(kind), bytes),
                   pc);
    }
  }

  // The write is made by now.
  void ResolveSuspect() {
    if (!suspect) return;
    const std::unique_ptr<Suspect> past = std::move(suspect);
    if (std::memcmp(past->before, past->address, past->bytes) != 0) {
      runner->FailFor(runner->thread(past->thread), past->message, past->pc);
    }
  }

  void CheckShared(const SimThread& thread, const void* address, size_t bytes, unsigned kind, const void* pc) {
    const size_t offset = static_cast<size_t>(static_cast<const char*>(address) - runner->shared());
    const auto next = std::upper_bound(variables.begin(), variables.end(), offset,
                                       [](size_t o, const SharedLayout::Variable& v) { return o < v.offset; });
    const bool dynamic = next == variables.begin();
    const SharedLayout::Variable v =
        dynamic ? SharedLayout::Variable{0, runner->launch().shared_bytes} : *std::prev(next);
    if (offset + bytes > v.offset + v.bytes) {
      runner->Fail(absl::StrFormat("out of bounds: %s %d bytes at offset %d of %s of %d bytes%s", Verb(kind), bytes,
                                   offset - v.offset, dynamic ? "dynamic shared memory" : "a shared variable", v.bytes,
                                   next == variables.end() ? "" : ", or before the start of the next one"),
                   pc);
    }
    CheckRaces(shared, offset, thread, address, bytes, kind, /*is_shared=*/true, pc);
  }

  // The region with the greatest start at or below the address, or null.
  Region* Below(uintptr_t address) {
    if (last_region < regions.size() && regions[last_region].range.begin <= address &&
        address < regions[last_region].range.end) {
      return &regions[last_region];
    }
    const auto next = std::upper_bound(regions.begin(), regions.end(), address,
                                       [](uintptr_t a, const Region& r) { return a < r.range.begin; });
    if (next == regions.begin()) return nullptr;
    last_region = static_cast<size_t>(next - regions.begin()) - 1;
    return &regions[last_region];
  }

  void FailOutside(uintptr_t begin, size_t bytes, unsigned kind, Region* below, const void* pc) {
    std::string text = absl::StrFormat("out of bounds: %s %d bytes at %#x", Verb(kind), bytes, begin);
    if (begin < 4096) {
      text += ", a null pointer";
    } else if (below != nullptr && begin - below->range.end < (size_t{1} << 20)) {
      absl::StrAppend(&text,
                      begin < below->range.end
                          ? ", over the end of the buffer of "
                          : absl::StrFormat(", %d bytes past the end of the buffer of ", begin - below->range.end),
                      below->range.end - below->range.begin, " bytes");
    } else {
      const auto above = std::upper_bound(regions.begin(), regions.end(), begin,
                                          [](uintptr_t a, const Region& r) { return a < r.range.begin; });
      if (above != regions.end() && above->range.begin - begin < (size_t{1} << 20)) {
        absl::StrAppend(&text, ", ", above->range.begin - begin, " bytes before a buffer of ",
                        above->range.end - above->range.begin, " bytes");
      } else {
        text += ", far from every buffer";
      }
    }
    runner->Fail(text, pc);
  }

  // What another block handed over through this address, and what this one hands over.
  void Synchronise(uintptr_t address, unsigned kind) {
    Known& here = handed[address];
    for (const auto& [block, clock] : here) known[block] = std::max(known[block], clock);
    if (kind != kTccSimAtomicUpdate || !fenced) return;
    fenced = false;
    ++block_clock;
    known[blocks_started] = block_clock;
    for (const auto& [block, clock] : known) here[block] = std::max(here[block], clock);
    for (unsigned w = 0; w < warps; ++w) NewSegment(w);
  }
};

Checker::Checker(const Kernel& kernel, const LaunchOptions& options) : impl_(std::make_unique<Impl>(kernel, options)) {}
Checker::~Checker() = default;

void Checker::StartBlock(BlockRunner& runner) {
  Impl& impl = *impl_;
  impl.runner = &runner;
  ++impl.blocks_started;
  const TccSimIndex dim = runner.launch().block;
  impl.warps = (dim.x * dim.y * dim.z + kWarpSize - 1) / kWarpSize;
  impl.block_clock = 0;
  impl.fenced = false;
  impl.known.clear();
  impl.released.clear();
  impl.suspect.reset();
  std::memset(impl.clocks, 0, sizeof impl.clocks);
  std::memset(impl.steps, 0, sizeof impl.steps);
  for (unsigned w = 0; w < impl.warps; ++w) {
    impl.clocks[w][w] = 1;
    impl.NewSegment(w);
  }
  NewSharedVariable();
}

void Checker::NewSharedVariable() {
  impl_->variables = impl_->runner->launch().shared->variables();
  std::sort(impl_->variables.begin(), impl_->variables.end(),
            [](const SharedLayout::Variable& a, const SharedLayout::Variable& b) { return a.offset < b.offset; });
}

void Checker::Access(const SimThread& thread, const void* address, size_t bytes, unsigned kind, const void* pc) {
  Impl& impl = *impl_;
  impl.ResolveSuspect();
  if (thread.fiber->Contains(address)) return;
  const char* shared = impl.runner->shared();
  if (address >= shared && address < shared + kStaticSharedEnd) {
    impl.CheckShared(thread, address, bytes, kind, pc);
    return;
  }
  const auto begin = reinterpret_cast<uintptr_t>(address);
  Impl::Region* region = impl.Below(begin);
  if (region != nullptr && begin + bytes <= region->range.end) {
    if (!region->shadow) region->shadow = std::make_unique<RaceShadow>(region->range.end - region->range.begin);
    if (kind == kTccSimAtomicUpdate || kind == kTccSimAtomicRead) impl.Synchronise(begin, kind);
    impl.CheckRaces(*region->shadow, begin - region->range.begin, thread, address, bytes, kind, /*is_shared=*/false,
                    pc);
    return;
  }
  if (address >= impl.module.begin && address < impl.module.end && kind == kTccSimRead) return;  // tables of constants
  if (impl.runner->fibers().Find(address) != nullptr) {
    impl.runner->Fail(absl::StrCat(Verb(kind), " ", bytes, " bytes of a local variable of another thread"), pc);
  }
  impl.FailOutside(begin, bytes, kind, region, pc);
}

void Checker::Barrier(const unsigned* lanes, size_t warps) {
  Impl& impl = *impl_;
  impl.ResolveSuspect();
  uint32_t joined[kMaxWarps] = {};
  for (unsigned w = 0; w < warps; ++w) {
    if (lanes[w] == 0) continue;
    for (unsigned other = 0; other < warps; ++other) joined[other] = std::max(joined[other], impl.clocks[w][other]);
  }
  for (unsigned w = 0; w < warps; ++w) {
    if (lanes[w] == 0) continue;
    const uint32_t own = impl.clocks[w][w];
    std::memcpy(impl.clocks[w], joined, sizeof joined);
    impl.clocks[w][w] = own + 1;
    ++impl.steps[w];
    impl.NewSegment(w);
  }
}

void Checker::SyncWarp(unsigned warp) {
  impl_->ResolveSuspect();
  ++impl_->steps[warp];
  impl_->NewSegment(warp);
}

void Checker::Release(unsigned warp, const void* address) {
  Impl& impl = *impl_;
  std::vector<uint32_t>& clocks = impl.released[address];
  clocks.resize(kMaxWarps);
  for (unsigned w = 0; w < impl.warps; ++w) clocks[w] = std::max(clocks[w], impl.clocks[warp][w]);
  ++impl.clocks[warp][warp];
  impl.NewSegment(warp);
}

void Checker::Acquire(unsigned warp, const void* address) {
  Impl& impl = *impl_;
  const std::vector<uint32_t>& clocks = impl.released[address];
  for (unsigned w = 0; w < clocks.size(); ++w) impl.clocks[warp][w] = std::max(impl.clocks[warp][w], clocks[w]);
  // The lanes of a warp that arrived before are ordered with those that go on.
  ++impl.steps[warp];
  impl.NewSegment(warp);
}

void Checker::Fence(bool device) {
  impl_->ResolveSuspect();
  if (device) impl_->fenced = true;
}

void Checker::Exit() { impl_->ResolveSuspect(); }

}  // namespace tcc::sim
