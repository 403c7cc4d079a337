#include "runtime/run_context.h"

namespace tcc {

RunContext::RunContext() : state_(std::make_unique<State>()) {}
RunContext::~RunContext() = default;

int64_t RunContext::arena_bytes() const { return state_->arena_bytes(); }

}  // namespace tcc
