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

  ExecutionContext& For(const std::shared_ptr<const PreparedPlan>& plan, int max_recordings);
};

}  // namespace tcc
