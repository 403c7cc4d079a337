// Stacks on which the threads of simulated blocks run. One pool per host thread, kept from block to block.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace tcc::sim {

// Runs `body` each time it is resumed after having finished, until it is abandoned.
class Fiber {
 public:
  using Body = void (*)(void* context, Fiber& self);

  Fiber(void* stack, size_t bytes, Body body, void* context);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the scheduler: runs the fiber until it suspends or its body returns.
  void Resume();
  // From inside the fiber: back to the scheduler.
  void Suspend();
  // The fiber starts anew at the next Resume: what was on its stack is dropped without running any destructor. (Kernels
  // have none. boost::context would unwind the stack, which code compiled without exceptions does not survive.)
  void Abandon();

  bool Contains(const void* address) const {
    return address >= stack_ && address < static_cast<char*>(stack_) + bytes_;
  }

 private:
  void Start();

  void* const stack_;
  const size_t bytes_;
  const Body body_;
  void* const context_;
  // Never destroyed, for the reason above.
  union {
    boost::context::fiber inside_;  // where the fiber goes on
  };
  union {
    boost::context::fiber scheduler_;
  };

 public:
  ~Fiber() {}  // NOLINT: the unions
};

class FiberPool {
 public:
  FiberPool(Fiber::Body body, void* context) : body_(body), context_(context) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // A fiber that is not in use. Null: no memory for its stack.
  Fiber* Take();
  void Give(Fiber* fiber) { idle_.push_back(fiber); }
  // Gives all fibers back, suspended ones too.
  void AbandonAll();
  // The fiber whose stack `address` lies in, or null.
  const Fiber* Find(const void* address) const;

 private:
  bool Grow();

  struct Chunk {
    void* memory;
    size_t bytes;
  };
  const Fiber::Body body_;
  void* const context_;
  std::vector<Chunk> chunks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
};

}  // namespace tcc::sim
