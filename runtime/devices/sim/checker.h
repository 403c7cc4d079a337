// What is checked of the memory accesses of instrumented kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {

class BlockRunner;
struct SimThread;

// One for each launch; all its blocks run on one host thread. What it finds it reports by BlockRunner::Fail.
class Checker {
 public:
  Checker(const Kernel& kernel, const LaunchOptions& options);
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  void StartBlock(BlockRunner& runner);
  void NewSharedVariable();

  // Before the access is made.
  void Access(const SimThread& thread, const void* address, size_t bytes, unsigned kind, const void* pc);
  // The lanes of each warp that met at a barrier.
  void Barrier(const unsigned* lanes, size_t warps);
  void SyncWarp(unsigned warp);
  // What a warp did is before what warps do that acquire the same address later.
  void Release(unsigned warp, const void* address);
  void Acquire(unsigned warp, const void* address);
  void Fence(bool device);
  void Exit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tcc::sim
