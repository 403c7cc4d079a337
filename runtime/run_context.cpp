#include "runtime/run_context.h"

namespace tcc {

RunContext::RunContext() : state_(std::make_unique<State>()) {}
RunContext::~RunContext() = default;

int64_t RunContext::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& [plan, context] : state_->contexts) bytes += context->arena_bytes();
  return bytes;
}

ExecutionContext& RunContext::State::For(const std::shared_ptr<const PreparedPlan>& plan, int max_recordings) {
  // (The context keeps its plan alive: no other one can come to have that address.)
  std::unique_ptr<ExecutionContext>& context = contexts[plan.get()];
  if (context == nullptr) context = std::make_unique<ExecutionContext>(plan, nullptr, max_recordings);
  return *context;
}

}  // namespace tcc
