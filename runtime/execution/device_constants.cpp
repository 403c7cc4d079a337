#include "runtime/execution/device_constants.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/plan.h"
#include "runtime/status.h"

namespace tcc {
namespace {

int64_t Rounded(int64_t bytes) { return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment; }

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const DeviceConstants>> known;  // guarded by mutex
};
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

int64_t DeviceConstants::BytesOf(const Parts& parts) {
  int64_t bytes = 0;
  for (const auto& [offset, size] : parts) bytes += Rounded(size);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const DeviceConstants>> DeviceConstants::Get(
    const std::shared_ptr<devices::ComputeDevice>& device, const std::string& identity, const char* base,
    const Parts& parts) {
  // (While it lives no other device can have that address.)
  std::string key = absl::StrCat(reinterpret_cast<uintptr_t>(device.get()), " ", identity);
  for (const auto& [offset, size] : parts) absl::StrAppend(&key, " ", offset, ":", size);
  Registry& registry = TheRegistry();
  // Held while they are copied: who wants the same waits for it.
  const std::lock_guard lock(registry.mutex);
  std::erase_if(registry.known, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = registry.known.find(key); found != registry.known.end()) {
    if (std::shared_ptr<const DeviceConstants> constants = found->second.lock()) return constants;
  }
  std::shared_ptr<DeviceConstants> constants(new DeviceConstants(device));
  TCC_RETURN_IF_ERROR(constants->Copy(base, parts));
  registry.known[key] = constants;
  return std::shared_ptr<const DeviceConstants>(std::move(constants));
}

absl::Status DeviceConstants::Copy(const char* base, const Parts& parts) {
  TCC_ASSIGN_OR_RETURN(void* const memory, device_->Allocate(BytesOf(parts)));
  memory_ = static_cast<char*>(memory);
  bytes_ = BytesOf(parts);
  TCC_ASSIGN_OR_RETURN(devices::StreamHandle* const stream, device_->CreateStream());
  absl::Status status;
  int64_t place = 0;
  for (const auto& [offset, size] : parts) {
    places_[offset] = place;
    if (status.ok()) status = device_->CopyToDevice(memory_ + place, base + offset, size, stream);
    place += Rounded(size);
  }
  const absl::Status waited = device_->Synchronize(stream);
  device_->DestroyStream(stream);
  return status.ok() ? waited : status;
}

DeviceConstants::~DeviceConstants() { device_->Free(memory_, bytes_); }

}  // namespace tcc
