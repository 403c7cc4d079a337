#include "runtime/devices/registry.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/devices/cuda_device.h"
#include "runtime/devices/null_device.h"
#include "runtime/devices/sim_device.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using Made = absl::StatusOr<std::shared_ptr<ComputeDevice>>;

// N of "cuda:N"; -1 for other names.
int IndexOf(const std::string& name) {
  int index = -1;
  return name.rfind("cuda:", 0) == 0 && absl::SimpleAtoi(name.substr(5), &index) && index >= 0 ? index : -1;
}

Made Make(const std::string& name) {
  TCC_RETURN_IF_ERROR(CheckDeviceName(name));
  if (name == "null") return MakeNullDevice();
  if (name == "cuda-sim") return MakeSimDevice();
  return MakeCudaDevice(IndexOf(name));
}

}  // namespace

absl::Status CheckDeviceName(std::string_view given) {
  const std::string name(given);
  if (name == "null" || name == "cuda" || name == "cuda-sim" || IndexOf(name) >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no device '", name, "': there are cuda:N (a GPU), cuda-sim and null"));
}

Made DeviceFor(std::string_view given) {
  const std::string name = given == "cuda" ? "cuda:0" : std::string(given);
  // Never destroyed: kernels and memory may outlive what else is static.
  static std::mutex mutex;
  static auto* const devices = new std::map<std::string, std::shared_ptr<ComputeDevice>>;
  const std::lock_guard lock(mutex);
  const auto found = devices->find(name);
  if (found != devices->end()) return found->second;
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<ComputeDevice> device, Make(name));
  devices->emplace(name, device);
  return device;
}

Made DefaultDevice(const std::string& target_kind) {
  const char* const chosen = std::getenv("TCC_DEVICE");
  if (chosen == nullptr || *chosen == '\0') return DeviceFor(target_kind);
  const Made device = DeviceFor(chosen);
  if (!device.ok()) return WithContext("TCC_DEVICE", device.status());
  return device;
}

std::vector<Listing> ListDevices() {
  std::vector<Listing> list;
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) list.push_back({"cuda", Kind::kCuda, count.status()});
  for (int i = 0; count.ok() && i < *count; ++i) {
    list.push_back({absl::StrCat("cuda:", i), Kind::kCuda, DescribeCudaDevice(i)});
  }
  const Made sim = DeviceFor("cuda-sim");
  list.push_back(
      {"cuda-sim", Kind::kCudaSim, sim.ok() ? (*sim)->properties() : absl::StatusOr<Properties>(sim.status())});
  return list;
}

}  // namespace tcc::devices
