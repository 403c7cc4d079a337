#include "runtime/devices/sim/fiber_pool.h"

#include <sys/mman.h>

#include <utility>

namespace tcc::sim {
namespace {

// Local arrays of kernels and what the compiler spills; pages that nobody touches cost nothing.
constexpr size_t kStackBytes = size_t{128} << 10;
constexpr size_t kGuardBytes = size_t{4} << 10;
constexpr size_t kFibersPerChunk = 64;
// The tops of stacks start at different cache lines of a page, or they would all fall into the same sets of the cache.
constexpr size_t kColours = 16, kColourBytes = 256;

// The memory belongs to the pool.
struct KeepStack {
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

Fiber::Fiber(void* stack, size_t bytes, Body body, void* context)
    : stack_(stack), bytes_(bytes), body_(body), context_(context) {
  new (&scheduler_) boost::context::fiber();
  Start();
}

void Fiber::Start() {
  boost::context::stack_context stack;
  stack.sp = static_cast<char*>(stack_) + bytes_;
  stack.size = bytes_;
  const boost::context::preallocated place(stack.sp, stack.size, stack);
  new (&inside_)
      boost::context::fiber(std::allocator_arg, place, KeepStack(), [this](boost::context::fiber&& scheduler) {
        new (&scheduler_) boost::context::fiber(std::move(scheduler));
        for (;;) {
          body_(context_, *this);
          Suspend();
        }
        return std::move(scheduler_);
      });
}

void Fiber::Resume() {
  boost::context::fiber next = std::move(inside_).resume();
  new (&inside_) boost::context::fiber(std::move(next));
}

void Fiber::Suspend() {
  boost::context::fiber next = std::move(scheduler_).resume();
  new (&scheduler_) boost::context::fiber(std::move(next));
}

void Fiber::Abandon() { Start(); }

FiberPool::~FiberPool() {
  for (const Chunk& chunk : chunks_) munmap(chunk.memory, chunk.bytes);
}

bool FiberPool::Grow() {
  const size_t stride = kGuardBytes + kStackBytes;
  const size_t bytes = kFibersPerChunk * stride;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  chunks_.push_back({memory, bytes});
  for (size_t i = 0; i < kFibersPerChunk; ++i) {
    char* guard = static_cast<char*>(memory) + i * stride;
    if (mprotect(guard, kGuardBytes, PROT_NONE) != 0) return i > 0;
    fibers_.push_back(
        std::make_unique<Fiber>(guard + kGuardBytes, kStackBytes - i % kColours * kColourBytes, body_, context_));
    idle_.push_back(fibers_.back().get());
  }
  return true;
}

Fiber* FiberPool::Take() {
  if (idle_.empty() && !Grow()) return nullptr;
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberPool::AbandonAll() {
  idle_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    fiber->Abandon();
    idle_.push_back(fiber.get());
  }
}

const Fiber* FiberPool::Find(const void* address) const {
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    if (fiber->Contains(address)) return fiber.get();
  }
  return nullptr;
}

}  // namespace tcc::sim
