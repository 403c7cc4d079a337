#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <thread>

#include "runtime/float_control.h"

// Under the address sanitizer an allocation that is too large ends the program unless told otherwise.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace tcc {
namespace {

// Runs a loop and reports whether each item was done exactly once, in ranges that start at multiples of the grain.
testing::AssertionResult CoversOnce(ThreadPool& pool, int64_t items, int64_t grain) {
  std::vector<std::atomic<int>> done(static_cast<size_t>(items));
  std::atomic<bool> aligned{true};
  pool.ParallelFor(items, grain, [&](int64_t begin, int64_t end) {
    if (begin % grain != 0 || (end % grain != 0 && end != items)) aligned = false;
    for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
  });
  for (int64_t i = 0; i < items; ++i) {
    if (done[static_cast<size_t>(i)] != 1) {
      return testing::AssertionFailure() << "item " << i << " of " << items << " done " << done[static_cast<size_t>(i)];
    }
  }
  if (!aligned) return testing::AssertionFailure() << "a range does not start at a multiple of " << grain;
  return testing::AssertionSuccess();
}

TEST(ThreadPool, EveryItemOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (int64_t items : {0, 1, 2, 3, 7, 64, 65, 997, 4099}) {
      for (int64_t grain : {1, 2, 3, 64, 10000}) EXPECT_TRUE(CoversOnce(pool, items, grain)) << threads;
    }
  }
}

TEST(ThreadPool, ManyShortLoops) {
  ThreadPool pool(4);
  int64_t total = 0;
  for (int round = 0; round < 5000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.ParallelFor(9, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    total += sum;
  }
  EXPECT_EQ(total, 5000 * 36);
}

TEST(ThreadPool, WorkersReallyTakePart) {
  ThreadPool pool(3);
  // Each range waits for the two others: only three threads together get through.
  std::barrier together(3);
  std::atomic<int> passed{0};
  pool.ParallelFor(3, 1, [&](int64_t begin, int64_t end) {
    together.arrive_and_wait();
    ++passed;
  });
  EXPECT_EQ(passed, 3);
}

TEST(ThreadPool, NestedLoopsRunInline) {
  ThreadPool pool(3);
  std::atomic<int64_t> count{0};
  pool.ParallelFor(5, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.ParallelFor(100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        count += e - b;
      });
    }
  });
  EXPECT_EQ(count, 500);
}

TEST(ThreadPool, ManyCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) good += CoversOnce(pool, 101, 2) ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 800);
}

TEST(ThreadPool, WorksInAForkedChild) {
  ThreadPool pool(3);
  ASSERT_TRUE(CoversOnce(pool, 100, 1));
  const pid_t child = fork();
  if (child == 0) {
    std::barrier together(3);
    pool.ParallelFor(3, 1, [&](int64_t, int64_t) { together.arrive_and_wait(); });
    _exit(CoversOnce(pool, 997, 2) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(CoversOnce(pool, 100, 1));
}

// A child forked while another thread is inside a loop must not wait for workers it does not have.
TEST(ThreadPool, ForkWhileALoopRuns) {
  ThreadPool pool(2);
  std::atomic<bool> inside{false}, leave{false};
  std::thread caller([&] {
    pool.ParallelFor(2, 1, [&](int64_t, int64_t) {
      inside = true;
      while (!leave) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(CoversOnce(pool, 50, 1) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  leave = true;
  caller.join();
}

TEST(ThreadPool, Scratch) {
  void* memory = ThreadScratch(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  EXPECT_EQ(ThreadScratch(50), memory);
  EXPECT_EQ(ThreadScratch(size_t{1} << 62), nullptr);
  EXPECT_NE(ThreadScratch(10), nullptr);
}

#if defined(__x86_64__)
TEST(FloatControl, SetAndRestored) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  {
    const ScopedFloatControl scope;
    EXPECT_EQ(_mm_getcsr() & 0x8040, 0u);
  }
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
  _mm_setcsr(before);
}
#endif

}  // namespace
}  // namespace tcc
