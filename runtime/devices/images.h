// Kernels of a plan, loaded onto a device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/devices/device.h"
#include "runtime/kernel_image.h"

namespace tcc::devices {

// Compiles the source of a kernel for a device of this architecture ("sm_90a"), where the package has no binary for it:
// the binary, or why not.
using CompileImage = std::function<absl::StatusOr<std::string>(const KernelImageView& image, const std::string& arch)>;

// The binary that suits the device best. FailedPrecondition with what there is and what the device is. On the device
// that runs nothing an image without any is fine.
absl::StatusOr<std::string_view> ChooseBinary(const ComputeDevice& device, const KernelImageView& image);

// Modules, unloaded with the object. Immutable, thread-safe.
class LoadedImages {
 public:
  // Loads each image once, in which `symbols` are looked for: null where none is asked for. `compile` may be empty.
  // Errors name the kernel: NotFound where no image has it.
  static absl::StatusOr<std::unique_ptr<LoadedImages>> Load(const std::shared_ptr<ComputeDevice>& device,
                                                            const std::vector<KernelImageView>& images,
                                                            const std::vector<std::string>& symbols,
                                                            const CompileImage& compile);
  ~LoadedImages();
  LoadedImages(const LoadedImages&) = delete;
  LoadedImages& operator=(const LoadedImages&) = delete;

  // By symbol, as they were asked for.
  const std::vector<FunctionHandle*>& functions() const { return functions_; }

 private:
  explicit LoadedImages(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {}
  std::shared_ptr<ComputeDevice> device_;
  std::vector<ModuleHandle*> modules_;
  std::vector<FunctionHandle*> functions_;
};

}  // namespace tcc::devices
