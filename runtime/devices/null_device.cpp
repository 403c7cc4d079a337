#include "runtime/devices/null_device.h"

#include "runtime/devices/host_device.h"

namespace tcc::devices {
namespace {

class NullDevice : public HostDevice {
 public:
  explicit NullDevice(const NullOptions& options)
      : HostDevice(Kind::kNull, "null", {DeviceType::kNull, 0}, options.memory_bytes, /*guard=*/0) {
    properties_.name = "a device that runs nothing";
    properties_.compute_capability = options.compute_capability;
  }

  int Suits(std::string_view) const override { return 1; }
  absl::StatusOr<FunctionHandle*> Function(ModuleHandle* module, const std::string&) override {
    return reinterpret_cast<FunctionHandle*>(module);
  }

 protected:
  absl::StatusOr<ModuleHandle*> DoLoadModule(std::string_view, const std::string&) override {
    return reinterpret_cast<ModuleHandle*>(new char);
  }
  void DoUnloadModule(ModuleHandle* module) override { delete reinterpret_cast<char*>(module); }
  absl::Status Run(FunctionHandle*, const LaunchShape&, absl::Span<void*>) override { return absl::OkStatus(); }
};

}  // namespace

std::shared_ptr<ComputeDevice> MakeNullDevice(const NullOptions& options) {
  return std::make_shared<NullDevice>(options);
}

}  // namespace tcc::devices
