#include "runtime/devices/images.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

struct Registered {
  std::mutex mutex;
  CompileImages compile;  // guarded by mutex
};
Registered& TheCompiler() {
  static auto* const registered = new Registered;
  return *registered;
}

}  // namespace

void RegisterImageCompiler(CompileImages compile) {
  Registered& registered = TheCompiler();
  const std::lock_guard lock(registered.mutex);
  registered.compile = std::move(compile);
}

CompileImages RegisteredImageCompiler() {
  Registered& registered = TheCompiler();
  const std::lock_guard lock(registered.mutex);
  return registered.compile;
}

std::string ArchOf(const ComputeDevice& device) {
  if (device.kind() == Kind::kCudaSim) return "sim";
  const int capability = device.properties().compute_capability;
  return absl::StrCat("sm_", capability, capability >= 90 ? "a" : "");
}

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

namespace {

struct Binary {
  const KernelImageView* image;
  std::string_view bytes;
  std::string compiled;  // where `bytes` are of it
};

// Compiles what has no code for the device.
absl::Status Compile(const ComputeDevice& device, const CompileImages& compile, std::vector<Binary>* binaries) {
  std::vector<const KernelImageView*> missing;
  std::vector<Binary*> places;
  absl::Status why;
  for (Binary& binary : *binaries) {
    absl::StatusOr<std::string_view> chosen = ChooseBinary(device, *binary.image);
    if (chosen.ok()) {
      binary.bytes = *chosen;
      continue;
    }
    if (why.ok()) why = chosen.status();
    if (compile == nullptr || binary.image->source.empty()) return chosen.status();
    missing.push_back(binary.image);
    places.push_back(&binary);
  }
  if (missing.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> compiled = compile(missing, ArchOf(device));
  if (compiled.ok() && compiled->size() != missing.size()) {
    compiled = absl::InternalError(absl::StrCat("the compiler gave ", compiled->size(), " of ", missing.size()));
  }
  if (!compiled.ok()) {
    return absl::Status(why.code(),
                        absl::StrCat(why.message(), "; compiling its source failed: ", compiled.status().message()));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    places[i]->compiled = std::move((*compiled)[i]);
    places[i]->bytes = places[i]->compiled;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedImages>> LoadedImages::Load(const std::shared_ptr<ComputeDevice>& device,
                                                                 const std::vector<KernelImageView>& images,
                                                                 const std::vector<std::string>& symbols,
                                                                 const CompileImages& compile) {
  std::map<std::string_view, const KernelImageView*> by_symbol;
  for (const KernelImageView& image : images) by_symbol[image.symbol] = &image;
  std::map<std::string_view, size_t> known;  // index in `binaries`
  std::vector<Binary> binaries;
  for (const std::string& symbol : symbols) {
    if (symbol.empty() || !known.emplace(symbol, binaries.size()).second) continue;
    const auto found = by_symbol.find(symbol);
    if (found == by_symbol.end()) {
      return absl::NotFoundError(absl::StrCat("kernel '", symbol, "': the package has no image of it"));
    }
    binaries.push_back({found->second, {}, {}});
  }
  TCC_RETURN_IF_ERROR(Compile(*device, compile, &binaries));
  std::unique_ptr<LoadedImages> loaded(new LoadedImages(device));
  std::vector<FunctionHandle*> functions;
  for (const Binary& binary : binaries) {
    const std::string& symbol = binary.image->symbol;
    const std::string name = absl::StrCat("kernel '", symbol, "'");
    absl::StatusOr<ModuleHandle*> module = device->LoadModule(binary.bytes, name);
    if (!module.ok() && IsLibraryCall(binary.bytes) && binary.image->binaries.size() > 1) {
      // The library knows no way to do it here: there is a kernel as well.
      Log("perf_hints", absl::StrCat(module.status().message(), "; the generated kernel is used"));
      KernelImageView others = *binary.image;
      std::erase_if(others.binaries, [](const auto& item) { return IsLibraryCall(item.second); });
      TCC_ASSIGN_OR_RETURN(const std::string_view other, ChooseBinary(*device, others));
      module = device->LoadModule(other, name);
    }
    if (!module.ok()) return module.status();
    loaded->modules_.push_back(*module);
    TCC_ASSIGN_OR_RETURN(FunctionHandle* const function, device->Function(*module, symbol));
    functions.push_back(function);
  }
  for (const std::string& symbol : symbols) {
    loaded->functions_.push_back(symbol.empty() ? nullptr : functions[known.at(symbol)]);
  }
  return loaded;
}

LoadedImages::~LoadedImages() {
  for (ModuleHandle* module : modules_) device_->UnloadModule(module);
}

}  // namespace tcc::devices
