#include "runtime/run_context.h"

namespace tcc {

RunContext::RunContext() : state_(std::make_unique<State>()) {}
RunContext::~RunContext() = default;

int64_t RunContext::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& [plan, context] : state_->contexts) bytes += context->arena_bytes();
  return bytes;
}

}  // namespace tcc
