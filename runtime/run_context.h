// What a RunContext holds.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "runtime/executor.h"
#include "runtime/run_options.h"

namespace tcc {

struct RunContext::State {
  std::atomic<bool> busy{false};  // a call is using it
  std::map<const PreparedPlan*, std::unique_ptr<ExecutionContext>> contexts;

  ExecutionContext& For(const std::shared_ptr<const PreparedPlan>& plan, int max_recordings) {
    // (The context keeps its plan alive: no other one can come to have that address.)
    std::unique_ptr<ExecutionContext>& context = contexts[plan.get()];
    if (context == nullptr) context = std::make_unique<ExecutionContext>(plan, nullptr, max_recordings);
    return *context;
  }
};

}  // namespace tcc
