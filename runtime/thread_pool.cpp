#include "runtime/thread_pool.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "runtime/cpu_count.h"
#include "runtime/float_control.h"

namespace tcc {
namespace {

constexpr uint32_t kOpen = uint32_t{1} << 31;
constexpr uint32_t kCallerSleeps = uint32_t{1} << 30;
// About 10 to 50 microseconds: longer than the gap between two kernels of a plan, shorter than anyone notices.
constexpr int kSpins = 1000;

// Set in workers, and in a caller while it works on its loop: loops inside run inline.
thread_local bool in_loop = false;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void FutexWake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

std::mutex pools_mutex;
std::vector<ThreadPool*>& Pools() {
  static auto* pools = new std::vector<ThreadPool*>;
  return *pools;
}

}  // namespace

struct ForkHandlers {
  static void Install() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(Prepare, Parent, Child); });
  }
  static void Prepare() { pools_mutex.lock(); }
  static void Parent() { pools_mutex.unlock(); }
  static void Child() {
    for (ThreadPool* pool : Pools()) pool->ForgetWorkers();
    pools_mutex.unlock();
  }
};

struct ThreadPool::Worker {
  ThreadPool* pool;
  int index;
  static void* Main(void* argument) {
    const std::unique_ptr<Worker> worker(static_cast<Worker*>(argument));
    worker->pool->WorkerLoop(worker->index);
    return nullptr;
  }
};

ThreadPool& ThreadPool::Global() {
  static auto* pool = new ThreadPool(DefaultThreadCount());
  return *pool;
}

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), segments_(static_cast<size_t>(threads_)) {
  // With more threads than processors a spinning thread keeps a working one from running.
  spins_ = threads_ <= static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) ? kSpins : 0;
  ForkHandlers::Install();
  const std::lock_guard<std::mutex> lock(pools_mutex);
  Pools().push_back(this);
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(pools_mutex);
    std::erase(Pools(), this);
  }
  StopWorkers();
}

void ThreadPool::StartWorkers() {
  started_ = true;
  // Signals are the host program's: its handlers must not run on our threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int index = 1; index < threads_; ++index) {
    auto worker = std::make_unique<Worker>(Worker{this, index});
    pthread_t thread;
    // Fewer workers than asked for still do all the work.
    if (pthread_create(&thread, nullptr, Worker::Main, worker.get()) != 0) break;
    worker.release();
    workers_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::StopWorkers() {
  stopping_.store(true);
  epoch_.fetch_add(1);
  FutexWake(epoch_, static_cast<int>(workers_.size()));
  for (const pthread_t thread : workers_) pthread_join(thread, nullptr);
  workers_.clear();
}

void ThreadPool::ForgetWorkers() {
  workers_.clear();
  started_ = false;
  busy_.store(false);
  sleepers_.store(0);
  gate_.store(0);
}

void ThreadPool::WorkerLoop(int index) {
  in_loop = true;
  const ScopedFloatControl float_control;  // a thread inherits its creator's
  uint32_t seen = epoch_.load();
  while (!stopping_.load()) {
    // Joins the loop that is open, if one is. A worker that comes late finds the gate closed.
    uint32_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kOpen) && !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
    }
    if (gate & kOpen) {
      Work(index);
      if (gate_.fetch_sub(1, std::memory_order_acq_rel) - 1 == kCallerSleeps) FutexWake(gate_, 1);
    }
    int spins = spins_;
    while (epoch_.load(std::memory_order_acquire) == seen && spins-- > 0) Pause();
    if (epoch_.load(std::memory_order_acquire) == seen) {
      sleepers_.fetch_add(1);
      FutexWait(epoch_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = epoch_.load(std::memory_order_acquire);
  }
}

void ThreadPool::Work(int index) {
  const Job job = job_;
  const int segments = job.segments;
  for (int i = 0; i < segments; ++i) {
    Segment& segment = segments_[static_cast<size_t>((index + i) % segments)];
    while (segment.next.load(std::memory_order_relaxed) < segment.end) {
      const int64_t begin = segment.next.fetch_add(job.chunk, std::memory_order_relaxed);
      if (begin >= segment.end) break;
      job.function(job.context, begin, std::min(begin + job.chunk, segment.end));
    }
  }
}

void ThreadPool::Run(int64_t items, int64_t grain, Function function, void* context) {
  if (items <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  // (Beyond 2^50 items the cursors could overflow; nothing real has as many.)
  if (threads_ == 1 || items <= grain || items > int64_t{1} << 50 || in_loop ||
      busy_.exchange(true, std::memory_order_acquire)) {
    return function(context, 0, items);
  }
  if (!started_) StartWorkers();

  const int64_t grains = items / grain + (items % grain != 0);
  const int segments = static_cast<int>(std::min<int64_t>(grains, threads_));
  const int64_t grains_each = grains / segments, extra = grains % segments;
  int64_t begin = 0;
  for (int i = 0; i < segments; ++i) {
    const int64_t mine = grains_each + (i < extra ? 1 : 0);
    const int64_t end = i + 1 == segments ? items : begin + mine * grain;
    segments_[static_cast<size_t>(i)].next.store(begin, std::memory_order_relaxed);
    segments_[static_cast<size_t>(i)].end = end;
    begin = end;
  }
  // A quarter of a stretch at a time: few hand-outs, and something left for those who finish early.
  job_ = {function, context, std::max<int64_t>(grains_each / 4, 1) * grain, segments};

  gate_.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1);
  if (sleepers_.load() > 0) FutexWake(epoch_, segments - 1);
  in_loop = true;
  Work(0);
  in_loop = false;

  // Everything has been handed out: late workers stay outside, those inside are waited for.
  uint32_t gate = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = spins_; gate != 0 && spins > 0; --spins) {
    Pause();
    gate = gate_.load(std::memory_order_acquire);
  }
  if (gate != 0) {
    gate = gate_.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
    while (gate != kCallerSleeps) {
      FutexWait(gate_, gate);
      gate = gate_.load(std::memory_order_acquire);
    }
    gate_.store(0, std::memory_order_relaxed);
  }
  busy_.store(false, std::memory_order_release);
}

namespace {

struct Scratch {
  void* memory = nullptr;
  size_t bytes = 0;
  ~Scratch() { std::free(memory); }
};

}  // namespace

void* ThreadScratch(size_t bytes) {
  thread_local Scratch scratch;
  if (bytes > scratch.bytes || scratch.memory == nullptr) {
    std::free(scratch.memory);
    scratch.bytes = (std::max<size_t>(bytes, 4096) + 4095) / 4096 * 4096;
    scratch.memory = std::aligned_alloc(64, scratch.bytes + 64);
    if (scratch.memory == nullptr) scratch.bytes = 0;
  }
  return scratch.memory;
}

}  // namespace tcc
