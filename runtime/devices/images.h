// Code for devices: which of a kernel's binaries suits a device, and the loaded modules of a plan.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/devices/device.h"
#include "runtime/kernel_image.h"

namespace tcc::devices {

// Compiles the sources of kernels for a device of this architecture ("sm_90a", "sim"), where the package has no binary
// for it: the binaries, in order, or why not (with kernel, source ops and line where a text is wrong).
using CompileImages = std::function<absl::StatusOr<std::vector<std::string>>(
    absl::Span<const KernelImageView* const> images, const std::string& arch)>;
// For plans that are prepared without one of their own, for as long as the process lives; null: there is none. The
// runtime has no compiler: who links one registers it. Thread-safe.
void RegisterImageCompiler(CompileImages compile);
CompileImages RegisteredImageCompiler();

// What this device would be compiled for: "sm_90a", "sim".
std::string ArchOf(const ComputeDevice& device);

// The binary that suits the device best. FailedPrecondition with what there is and what the device is. On the device
// that runs nothing an image without any is fine.
absl::StatusOr<std::string_view> ChooseBinary(const ComputeDevice& device, const KernelImageView& image);

// Modules, unloaded with the object. Immutable, thread-safe.
class LoadedImages {
 public:
  // Loads each image once, in which `symbols` are looked for: null where none is asked for. `compile` may be empty; it
  // is called at most once, for all kernels that need it. Errors name the kernel: NotFound where no image has it.
  static absl::StatusOr<std::unique_ptr<LoadedImages>> Load(const std::shared_ptr<ComputeDevice>& device,
                                                            const std::vector<KernelImageView>& images,
                                                            const std::vector<std::string>& symbols,
                                                            const CompileImages& compile);
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
