// Runs the blocks of a launch on one host thread: the scheduler of the simulated device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/devices/sim/fiber_pool.h"
#include "runtime/devices/sim/shared_layout.h"
#include "runtime/devices/sim/sim_abi.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/devices/sim/symbolize.h"

namespace tcc::sim {

class Checker;

inline constexpr unsigned kWarpSize = 32;
inline constexpr size_t kMaxSharedBytes = size_t{227} << 10;  // of a block, on sm_90 and sm_100

struct LaunchState {
  const Kernel* kernel;
  TccSimIndex grid, block;
  size_t shared_bytes;
  void** params;
  SharedLayout* shared;
  Checker* checker;  // null: not checked
};

struct AsyncCopy {
  void* to;
  const void* from;
  unsigned bytes, source_bytes;
  unsigned group;
  const void* pc;
};

struct SimThread {
  TccSimThread index;  // what the kernel sees
  unsigned lane = 0, warp = 0;
  Fiber* fiber = nullptr;
  const void* pc = nullptr;  // where it waits
  int value = 0;             // of a barrier's reduction
  std::vector<AsyncCopy> copies;
  unsigned copy_group = 0;  // not committed yet
  std::vector<AsyncCopy> bulk_stores;
  unsigned bulk_group = 0;
  const uint64_t* awaited = nullptr;  // the mbarrier it waits for, until the phase of this parity is over
  unsigned parity = 0;
};

class BlockRunner {
 public:
  // Of the calling host thread.
  static BlockRunner& OfThisThread();

  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Runs one block to its end. What was found wrong, with places in the form of At(), or nothing.
  std::optional<std::string> Run(const LaunchState& launch, TccSimIndex block);

  // What the table of the ABI does, for the running thread.
  int Barrier(unsigned id, unsigned count, int reduction, int value, const void* pc);
  void Warp(const TccSimWarpOp* op, unsigned mask, void* payload, const void* pc);
  void Yield(const void* pc);
  void* SharedVariable(TccSimShared* variable);
  void* DynamicShared() { return shared_; }
  void AsyncCopyStart(void* to, const void* from, unsigned bytes, unsigned source_bytes, const void* pc);
  void AsyncCommit();
  void AsyncWait(unsigned pending, const void* pc);
  int MbarrierStep(unsigned op, void* barrier, unsigned argument, const void* pc);
  void TensorLoadStart(void* to, const TccSimTensorMap& map, const int* coordinates, void* mbarrier, const void* pc);
  void BulkCopyStart(void* to, const void* from, unsigned bytes, void* mbarrier, const void* pc);
  void BulkCommit();
  void BulkWait(unsigned pending);
  void Access(const void* address, size_t bytes, unsigned kind, bool aligned, const void* pc);
  void Fence(bool device);
  // Ends the launch, on behalf of the running thread or of another one; the running thread never goes on.
  [[noreturn]] void Fail(absl::string_view message, const void* pc);
  [[noreturn]] void FailFor(const SimThread& thread, absl::string_view message, const void* pc);

  // For the checker.
  const LaunchState& launch() const { return *launch_; }
  const char* shared() const { return shared_; }
  const FiberPool& fibers() const { return fibers_; }
  const SimThread& thread(unsigned linear) const { return threads_[linear]; }

 private:
  struct WarpGroup {
    const TccSimWarpOp* op = nullptr;
    unsigned mask = 0, arrived = 0;
    void* payloads[kWarpSize];
    const void* pcs[kWarpSize];
  };
  struct WarpState {
    unsigned lanes = 0;  // that exist
    unsigned fresh = 0, ready = 0, yielded = 0, exited = 0;
    std::vector<WarpGroup> groups;  // that wait
  };
  struct Arrival {
    SimThread* thread;
    const void* pc;
    bool waits;
  };
  struct BarrierState {
    unsigned count = 0;
    int reduction = 0;
    std::vector<Arrival> arrived;
  };
  // A line of a tile: `bytes` at `from`, behind `before` zeros and in front of others.
  struct TileLine {
    const char* from;
    unsigned before, bytes;
  };
  struct BulkLoad {
    void* to;
    const void* from;
    unsigned bytes;
    uint64_t* mbarrier;
    unsigned warp;
    // Of a tile, instead of `from`: its lines, with pieces of 16 bytes exchanged by the swizzle.
    std::vector<TileLine> lines = {};
    unsigned swizzle = 0;
  };

  bool IsShared(const void* address) const { return address >= shared_ && address < shared_ + kStaticSharedEnd; }
  void CheckMbarrier(void* mbarrier, const void* pc);
  void CopyLines(const BulkLoad& load);
  static bool MbarrierDone(const SimThread& thread);
  bool FinishBulkLoads();

  void Prepare(TccSimIndex block);
  void PoisonShared();
  bool WakeYielded();
  void RunFiber(Fiber& fiber);
  void Wait(SimThread& thread);
  void OnExit(SimThread& thread);
  // These make a step whose threads are all there, on behalf of `current` (null: of a thread that has returned).
  bool TryBarrier(unsigned id, SimThread* current);
  bool TryGroup(WarpState& warp, size_t group, SimThread* current);
  void SetProblem(const SimThread& thread, absl::string_view message, const void* pc);
  std::string DescribeStuck() const;

  FiberPool fibers_;
  char* shared_ = nullptr;  // dynamic shared memory, then static (shared_layout.h)
  const LaunchState* launch_ = nullptr;
  std::vector<SimThread> threads_;
  std::vector<WarpState> warps_;
  BarrierState barriers_[16];
  unsigned barriers_in_use_ = 0;  // a bit for each that threads wait at
  unsigned live_ = 0;
  unsigned current_warp_ = 0;
  unsigned idle_rounds_ = 0;
  std::vector<BulkLoad> bulk_loads_;
  size_t poisoned_ = 0;  // bytes of static shared memory
  Fiber* finished_ = nullptr;
  std::optional<std::string> problem_;
};

// What runs on this host thread.
SimThread& CurrentThread();
BlockRunner& CurrentRunner();

}  // namespace tcc::sim
