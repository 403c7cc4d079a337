#include "runtime/execution/state.h"

#include <algorithm>

#include "runtime/execution/recording.h"

namespace tcc {

bool IsAligned(const Tensor& tensor) {
  const auto bytes = static_cast<uintptr_t>(std::min(DTypeBits(tensor.dtype()) / 8, 8));
  return bytes <= 1 || reinterpret_cast<uintptr_t>(tensor.data()) % bytes == 0;
}

Frame::Frame(const PreparedPlan& plan)
    : values(static_cast<size_t>(plan.plan_.num_values)),
      data(values.size()),
      flags(values.size()),
      writer(values.size()),
      registers(static_cast<size_t>(plan.plan_.num_registers)) {
  for (const auto& [value, tensor] : plan.constants_) Set(value, tensor, kContiguous | kForeign | kStatic);
}

ExecutionContext::State::State(std::shared_ptr<const PreparedPlan> prepared, ThreadPool* thread_pool, int limit,
                               std::shared_ptr<DeviceLane> shared)
    : plan(std::move(prepared)),
      pool(thread_pool != nullptr ? thread_pool : &ThreadPool::Global()),
      arena(plan->plan().slot_bytes.size()),
      owns_lane(shared == nullptr),
      lane(std::move(shared)),
      frame(*plan),
      max_recordings(limit) {
  buffers.resize(plan->max_buffers_);
  if (plan->device() == nullptr) return;
  if (owns_lane) lane = std::make_shared<DeviceLane>(plan->device());
  lane->arena.Reserve(plan->plan().slot_bytes.size());
}
ExecutionContext::State::~State() = default;

}  // namespace tcc
