#include "runtime/devices/images.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

// What this device would be compiled for.
std::string ArchOf(const ComputeDevice& device) {
  if (device.kind() == Kind::kCudaSim) return "sim";
  const int capability = device.properties().compute_capability;
  return absl::StrCat("sm_", capability, capability >= 90 ? "a" : "");
}

}  // namespace

absl::StatusOr<std::string_view> ChooseBinary(const ComputeDevice& device, const KernelImageView& image) {
  int best = 0;
  std::string_view binary;
  std::vector<std::string> archs;
  for (const auto& [arch, bytes] : image.binaries) {
    archs.push_back(arch);
    const int rank = device.Suits(arch);
    if (rank <= best) continue;
    best = rank;
    binary = bytes;
  }
  if (best > 0 || device.kind() == Kind::kNull) return binary;
  const std::string arch = ArchOf(device);
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel '", image.symbol, "': no code for ", device.name(), " (", device.properties().name, ", ", arch,
      "), there is ", archs.empty() ? "none at all" : absl::StrCat("some for ", absl::StrJoin(archs, ", ")),
      ": compile for ", device.kind() == Kind::kCudaSim ? "--target=cuda-sim" : absl::StrCat("--target=cuda:", arch)));
}

absl::StatusOr<std::unique_ptr<LoadedImages>> LoadedImages::Load(const std::shared_ptr<ComputeDevice>& device,
                                                                 const std::vector<KernelImageView>& images,
                                                                 const std::vector<std::string>& symbols,
                                                                 const CompileImage& compile) {
  std::map<std::string_view, const KernelImageView*> by_symbol;
  for (const KernelImageView& image : images) by_symbol[image.symbol] = &image;
  std::unique_ptr<LoadedImages> loaded(new LoadedImages(device));
  std::map<std::string_view, FunctionHandle*> done;
  for (const std::string& symbol : symbols) {
    FunctionHandle*& function = done[symbol];
    if (function == nullptr && !symbol.empty()) {
      const auto found = by_symbol.find(symbol);
      if (found == by_symbol.end()) {
        return absl::NotFoundError(absl::StrCat("kernel '", symbol, "': the package has no image of it"));
      }
      const KernelImageView& image = *found->second;
      absl::StatusOr<std::string_view> binary = ChooseBinary(*device, image);
      std::string compiled;
      if (!binary.ok() && compile != nullptr) {
        absl::StatusOr<std::string> result = compile(image, ArchOf(*device));
        if (!result.ok()) {
          return absl::Status(
              binary.status().code(),
              absl::StrCat(binary.status().message(), "; compiling its source failed: ", result.status().message()));
        }
        compiled = std::move(*result);
        binary = compiled;
      }
      if (!binary.ok()) return binary.status();
      const std::string name = absl::StrCat("kernel '", symbol, "'");
      absl::StatusOr<ModuleHandle*> module = device->LoadModule(*binary, name);
      if (!module.ok() && IsLibraryCall(*binary) && image.binaries.size() > 1) {
        // The library knows no way to do it here: there is a kernel as well.
        Log("perf_hints", absl::StrCat(module.status().message(), "; the generated kernel is used"));
        KernelImageView others = image;
        std::erase_if(others.binaries, [](const auto& item) { return IsLibraryCall(item.second); });
        binary = ChooseBinary(*device, others);
        if (!binary.ok()) return binary.status();
        module = device->LoadModule(*binary, name);
      }
      if (!module.ok()) return module.status();
      loaded->modules_.push_back(*module);
      TCC_ASSIGN_OR_RETURN(function, device->Function(*module, symbol));
    }
    loaded->functions_.push_back(function);
  }
  return loaded;
}

LoadedImages::~LoadedImages() {
  for (ModuleHandle* module : modules_) device_->UnloadModule(module);
}

}  // namespace tcc::devices
