// Runs the work items of kernels on a fixed set of threads.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tcc {

// The calling thread works too: a pool of n threads starts n - 1, at the first loop that wants them. Threads are not
// pinned. They spin for some microseconds after a loop, then sleep in the kernel.
//
// Thread safety: any number of threads may call ParallelFor at the same time. One of them gets the workers, the others
// run their loop themselves. A loop inside a loop's body runs inline. fork: a child starts workers of its own at its
// first loop.
class ThreadPool {
 public:
  // The pool of the process: DefaultThreadCount() threads. Never destroyed.
  static ThreadPool& Global();

  explicit ThreadPool(int threads);
  ~ThreadPool();  // no loop may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(begin, end) on disjoint ranges that cover [0, items), each a multiple of `grain` long but the last.
  // Returns when all are done. Where the ranges are cut depends on the number of threads. The body must not throw.
  template <typename Body>
  void ParallelFor(int64_t items, int64_t grain, Body&& body) {
    Run(
        items, grain,
        [](void* context, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<Body>*>(context))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  using Function = void (*)(void* context, int64_t begin, int64_t end);
  void Run(int64_t items, int64_t grain, Function function, void* context);

 private:
  friend struct ForkHandlers;
  struct Worker;
  // Each thread begins with its own stretch of the items, so that successive kernels find their data in the same core's
  // cache, and then takes chunks from the others'.
  struct alignas(64) Segment {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  struct Job {
    Function function = nullptr;
    void* context = nullptr;
    int64_t chunk = 1;
    int segments = 0;
  };

  void StartWorkers();
  void StopWorkers();
  void ForgetWorkers();  // in a forked child, where they do not exist
  void WorkerLoop(int index);
  void Work(int index);

  const int threads_;
  int spins_ = 0;
  bool started_ = false;  // guarded by busy_
  std::vector<pthread_t> workers_;
  std::vector<Segment> segments_;
  Job job_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  // Bumped for each loop; sleeping workers wait on it.
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> sleepers_{0};
  // kOpen while workers may join the loop, plus the number of those inside, plus kCallerSleeps.
  alignas(64) std::atomic<uint32_t> gate_{0};
};

// Memory of at least `bytes`, 64-byte aligned, private to the calling thread and valid until its next call. Null: no
// memory.
void* ThreadScratch(size_t bytes);

}  // namespace tcc
