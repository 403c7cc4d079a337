#include "runtime/execution/device_state.h"

#include <algorithm>

#include "runtime/plan.h"
#include "runtime/status.h"

namespace tcc {

namespace {

constexpr auto kCounterBytes = static_cast<int64_t>(sizeof(int32_t));

// What a value takes on a device.
absl::StatusOr<int64_t> BytesOnDevice(DType dtype, const Dims& dims) {
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(dims));
  if (dtype == DType::kString) return absl::UnimplementedError("strings cannot live on a device");
  if (count > int64_t{1} << 52) return absl::ResourceExhaustedError("a tensor of the plan is too large");
  const auto exact = std::max<int64_t>(static_cast<int64_t>(DTypeBytes(dtype, count)), 1);
  return (exact + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

}  // namespace

absl::StatusOr<void*> DevicePool::AllocateMemory(int64_t bytes) {
  absl::StatusOr<void*> fresh = device_->Allocate(bytes);
  if (absl::IsResourceExhausted(fresh.status()) && Trim()) fresh = device_->Allocate(bytes);
  return fresh;
}

absl::StatusOr<Tensor> DevicePool::Allocate(DType dtype, const Dims& dims) {
  TCC_ASSIGN_OR_RETURN(int64_t bytes, BytesOnDevice(dtype, dims));
  void* memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(bytes);
    // (One that is much too large would be missed elsewhere.)
    if (found != free_.end() && found->first / 2 <= bytes) {
      bytes = found->first;
      memory = found->second;
      free_.erase(found);
    }
  }
  if (memory == nullptr) {
    TCC_ASSIGN_OR_RETURN(memory, AllocateMemory(bytes));
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
  }
  return Tensor::Wrap(
      memory, dtype, dims, {}, [pool = shared_from_this(), memory, bytes] { pool->Return(memory, bytes); },
      device_->id());
}

void DevicePool::Return(void* memory, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  free_.emplace(bytes, memory);
}

bool DevicePool::Trim() {
  const std::lock_guard lock(mutex_);
  const bool any = !free_.empty();
  for (const auto& [bytes, memory] : free_) {
    device_->Free(memory, bytes);
    bytes_ -= bytes;
  }
  free_.clear();
  return any;
}

int64_t DevicePool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

DeviceLane::DeviceLane(std::shared_ptr<devices::ComputeDevice> on)
    : device(std::move(on)), pool(std::make_shared<DevicePool>(device)), arena(0, pool) {}

DeviceLane::~DeviceLane() { device->DestroyStream(stream_); }

absl::StatusOr<devices::StreamHandle*> DeviceLane::Stream() {
  if (stream_ == nullptr) {
    TCC_ASSIGN_OR_RETURN(stream_, device->CreateStream());
  }
  return stream_;
}

absl::StatusOr<Tensor> DeviceLane::Place(DType dtype, const Dims& dims, std::vector<const void*>* taken) {
  TCC_ASSIGN_OR_RETURN(const int64_t bytes, BytesOnDevice(dtype, dims));
  const Tensor* best = nullptr;
  for (const Tensor& place : places_) {
    if (place.num_elements() < bytes || std::find(taken->begin(), taken->end(), place.data()) != taken->end()) continue;
    if (best == nullptr || place.num_elements() < best->num_elements()) best = &place;
  }
  if (best == nullptr) {
    // (Those that no recording has any more go: they were too small, or too many.)
    std::erase_if(places_, [](const Tensor& place) { return place.storage().use_count() == 1; });
    TCC_ASSIGN_OR_RETURN(Tensor place, pool->Allocate(DType::kU8, {bytes}));
    places_.push_back(std::move(place));
    best = &places_.back();
  }
  taken->push_back(best->data());
  return Tensor::Wrap(best->data(), dtype, dims, {}, [block = best->storage()] { (void)block; }, device->id());
}

absl::Status DeviceState::Start(size_t words, size_t params_count) {
  if (started) return absl::OkStatus();
  TCC_ASSIGN_OR_RETURN(stream, lane->Stream());
  errors.assign(words, 0);
  if (words > 0 && error_words == nullptr) {
    TCC_ASSIGN_OR_RETURN(void* const memory, device->Allocate(static_cast<int64_t>(words * sizeof(int64_t))));
    error_words = static_cast<int64_t*>(memory);
  }
  values.resize(params_count);
  params.resize(params_count);
  for (size_t i = 0; i < params_count; ++i) params[i] = &values[i];
  started = true;
  return absl::OkStatus();
}

absl::Status DeviceState::Clear(devices::StreamHandle* on) {
  if (is_clear) return absl::OkStatus();
  if (!errors.empty()) {
    TCC_RETURN_IF_ERROR(device->Clear(error_words, static_cast<int64_t>(errors.size() * sizeof(int64_t)), on));
  }
  for (const CounterBlock& block : counters) {
    TCC_RETURN_IF_ERROR(device->Clear(block.memory, block.count * kCounterBytes, on));
  }
  is_clear = true;
  return absl::OkStatus();
}

absl::StatusOr<int32_t*> DeviceState::Counters(int64_t count, devices::StreamHandle* on) {
  if (!counters.empty() && counters.back().count >= count) return counters.back().memory;
  constexpr int64_t kLeast = 1024, kMost = int64_t{1} << 28;
  if (count < 0 || count > kMost) return absl::InternalError(absl::StrCat("a launch with ", count, " counters"));
  // (Twice as many: all blocks together take no more than two of the largest.)
  CounterBlock block = {nullptr, std::max({kLeast, count, counters.empty() ? 0 : 2 * counters.back().count})};
  TCC_ASSIGN_OR_RETURN(void* const memory, device->Allocate(block.count * kCounterBytes));
  if (absl::Status status = device->Clear(memory, block.count * kCounterBytes, on); !status.ok()) {
    device->Free(memory, block.count * kCounterBytes);
    return status;
  }
  block.memory = static_cast<int32_t*>(memory);
  counters.push_back(block);
  return block.memory;
}

DeviceState::~DeviceState() {
  if (stream != nullptr) device->Synchronize(stream).IgnoreError();
  device->Free(error_words, static_cast<int64_t>(errors.size() * sizeof(int64_t)));
  for (const CounterBlock& block : counters) device->Free(block.memory, block.count * kCounterBytes);
  for (devices::EventHandle* event : events) device->DestroyEvent(event);
}

}  // namespace tcc
