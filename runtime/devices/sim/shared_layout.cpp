#include "runtime/devices/sim/shared_layout.h"

#include <algorithm>
#include <map>
#include <memory>

namespace tcc::sim {

std::shared_ptr<SharedLayout> SharedLayout::Of(const TccSimModule* module, bool fresh) {
  static std::mutex mutex;
  static auto& layouts = *new std::map<const TccSimModule*, std::shared_ptr<SharedLayout>>();
  const std::lock_guard lock(mutex);
  std::shared_ptr<SharedLayout>& layout = layouts[module];
  if (!layout || fresh) layout = std::make_shared<SharedLayout>();
  return layout;
}

size_t SharedLayout::Place(TccSimShared* variable) {
  const unsigned long known = __atomic_load_n(&variable->offset, __ATOMIC_ACQUIRE);
  if (known != 0) return known;
  const std::lock_guard lock(mutex_);
  if (variable->offset != 0) return variable->offset;
  const size_t align = std::max<size_t>(variable->align, 16);
  const size_t offset = (end_ + kSharedGap + align - 1) / align * align;
  if (offset + variable->bytes + kSharedGap > kStaticSharedEnd) return 0;
  variables_.push_back({offset, variable->bytes});
  end_ = offset + variable->bytes;
  bytes_ += variable->bytes;
  __atomic_store_n(&variable->offset, offset, __ATOMIC_RELEASE);
  return offset;
}

size_t SharedLayout::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

size_t SharedLayout::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::vector<SharedLayout::Variable> SharedLayout::variables() const {
  const std::lock_guard lock(mutex_);
  return variables_;
}

}  // namespace tcc::sim
