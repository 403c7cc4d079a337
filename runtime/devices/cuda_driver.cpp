#include "runtime/devices/cuda_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc::devices::cuda {
namespace {

// The newest of the functions above came with it.
constexpr int kOldestDriver = 11040;

// After these every call of the process fails on that device (CUDA driver API, CUresult): errors of its memory and of
// links, then those of kernels (an address, a time limit, an assertion, an instruction, tensor memory), and a server
// that is shared by processes (MPS) and ended this one.
constexpr std::array<Result, 14> kLosesDevice = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810};

std::string VersionText(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

absl::StatusOr<Driver> Open(const std::string& library) {
  // Never unloaded: the driver has threads.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return absl::NotFoundError(absl::StrCat("no CUDA driver: ", why == nullptr ? library : std::string(why),
                                            " (it comes with the GPU's driver; TCC_CUDA_DRIVER names another file)"));
  }
  Driver driver;
  const auto find = [&](const char* symbol) { return dlsym(handle, symbol); };
  driver.DriverGetVersion = reinterpret_cast<decltype(driver.DriverGetVersion)>(find("cuDriverGetVersion"));
  if (driver.DriverGetVersion == nullptr || driver.DriverGetVersion(&driver.version) != kSuccess) {
    return absl::FailedPreconditionError(absl::StrCat(library, " is no CUDA driver: it does not tell its version"));
  }
  if (driver.version < kOldestDriver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA driver is too old: it is for CUDA ", VersionText(driver.version), ", tcc needs ",
                     VersionText(kOldestDriver), " or later: update the GPU's driver"));
  }
#define TCC_CUDA_FIND(name, symbol, parameters)                                                                        \
  driver.name = reinterpret_cast<decltype(driver.name)>(find(symbol));                                                 \
  if (driver.name == nullptr) {                                                                                        \
    return absl::FailedPreconditionError(absl::StrCat(library, " has no function ", symbol,                            \
                                                      " (it says it is for CUDA ", VersionText(driver.version), ")")); \
  }
  TCC_CUDA_FUNCTIONS(TCC_CUDA_FIND)
#undef TCC_CUDA_FIND
#define TCC_CUDA_FIND(name, symbol, parameters) driver.name = reinterpret_cast<decltype(driver.name)>(find(symbol));
  TCC_CUDA_LATER_FUNCTIONS(TCC_CUDA_FIND)
#undef TCC_CUDA_FIND
  Result result = driver.Init(0);
  if (result == kSuccess) result = driver.DeviceGetCount(&driver.devices);
  if (result == kNoDevice || (result == kSuccess && driver.devices == 0)) {
    return absl::NotFoundError("the CUDA driver finds no GPU (is one there, and does CUDA_VISIBLE_DEVICES show it?)");
  }
  if (result != kSuccess) return driver.Error(result, "the CUDA driver cannot be started");
  return driver;
}

}  // namespace

absl::StatusOr<const Driver*> Driver::Load(const std::string& library) {
  std::string path = library;
  if (path.empty()) {
    const char* const value = std::getenv("TCC_CUDA_DRIVER");
    path = value != nullptr && *value != '\0' ? value : "libcuda.so.1";
  }
  static std::mutex mutex;
  static auto* const drivers = new std::map<std::string, Driver>;
  const std::lock_guard lock(mutex);
  auto found = drivers->find(path);
  if (found == drivers->end()) {
    // What does not work may do so later: only what does is kept.
    TCC_ASSIGN_OR_RETURN(const Driver driver, Open(path));
    found = drivers->emplace(path, driver).first;
  }
  return &found->second;
}

absl::Status Driver::Error(Result result, absl::string_view what) const {
  if (result == kSuccess) return absl::OkStatus();
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(result, &name) != kSuccess || name == nullptr) name = "unknown error";
  if (GetErrorString(result, &text) != kSuccess || text == nullptr) text = "the driver does not know this error";
  const std::string message = absl::StrCat(what, ": ", text, " (", name, ", ", result, ")");
  switch (result) {
    case kOutOfMemory:
      return absl::ResourceExhaustedError(message);
    case kNoDevice:
    case kInvalidDevice:
    case kNotFound:
      return absl::NotFoundError(message);
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidPtx:
    case kUnsupportedPtxVersion:
      return absl::FailedPreconditionError(
          absl::StrCat(message, "; the driver is for CUDA ", VersionText(version),
                       ": code of a newer toolkit needs a newer driver, or compile for this machine"));
    case kSystemNotReady:
      return absl::UnavailableError(message);
    case kLaunchOutOfResources:
      return absl::FailedPreconditionError(absl::StrCat(message, ": too many registers or too much shared memory"));
    default:
      break;
  }
  const bool lost = std::find(kLosesDevice.begin(), kLosesDevice.end(), result) != kLosesDevice.end();
  return absl::InternalError(
      lost ? absl::StrCat(message,
                          "; the device is lost to this process: start it again (where a kernel failed, "
                          "CUDA_LAUNCH_BLOCKING=1 lets the error name the launch)")
           : message);
}

}  // namespace tcc::devices::cuda
