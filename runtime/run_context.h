// What a RunContext holds.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/execution/device_state.h"
#include "runtime/executor.h"
#include "runtime/run_options.h"

namespace tcc {

struct RunContext::State {
  // A call's, while it lasts: only one at a time is allowed.
  class Use {
   public:
    explicit Use(State& state) : state_(state), allowed_(!state.busy_.exchange(true)) {}
    ~Use() {
      if (allowed_) state_.busy_ = false;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    bool allowed() const { return allowed_; }

   private:
    State& state_;
    const bool allowed_;
  };

  // For who holds a Use.
  ExecutionContext& For(const std::shared_ptr<const PreparedPlan>& plan, int max_recordings) {
    std::lock_guard lock(mutex_);
    // (The context keeps its plan alive: no other one can come to have that address.)
    const auto found = contexts_.find(plan.get());
    if (found != contexts_.end()) return *found->second;
    std::shared_ptr<DeviceLane> lane;
    if (plan->device() != nullptr) {
      std::shared_ptr<DeviceLane>& shared = lanes_[plan->device().get()];
      if (shared == nullptr) shared = std::make_shared<DeviceLane>(plan->device());
      lane = shared;
    }
    auto context = std::make_unique<ExecutionContext>(plan, nullptr, max_recordings, std::move(lane));
    return *contexts_.emplace(plan.get(), std::move(context)).first->second;
  }
  int64_t arena_bytes() {
    std::lock_guard lock(mutex_);
    int64_t bytes = 0;
    for (const auto& [plan, context] : contexts_) bytes += context->arena_bytes();
    for (const auto& [device, lane] : lanes_) bytes += lane->bytes();
    return bytes;
  }

 private:
  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  // Of what runs on one device: what calls of this context have there they share, one after another.
  std::map<const devices::ComputeDevice*, std::shared_ptr<DeviceLane>> lanes_;  // guarded by mutex_
  std::map<const PreparedPlan*, std::unique_ptr<ExecutionContext>> contexts_;   // guarded by mutex_
};

}  // namespace tcc
