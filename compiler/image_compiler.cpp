#include "compiler/image_compiler.h"

#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "compiler/image_request.h"
#include "compiler/this_machine.h"
#include "compiler/version.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc {
namespace {

absl::StatusOr<std::vector<std::string>> Compile(ArtifactCache& cache, WorkerPool& workers,
                                                 absl::Span<const KernelImageView* const> images,
                                                 const std::string& arch) {
  const TargetSpec::Kind kind = arch == "sim" ? TargetSpec::Kind::kCudaSim : TargetSpec::Kind::kCuda;
  const std::string compiler = absl::StrCat(ToolchainIdentity(kind), "\n", WorkerIdentity(), "\n", kVersion);
  std::vector<std::string> keys, binaries(images.size());
  std::vector<size_t> missing;
  ImageRequest request;
  for (size_t i = 0; i < images.size(); ++i) {
    keys.push_back(ArtifactCache::Key({"image", images[i]->symbol, std::string(images[i]->source), arch, compiler}));
    if (std::optional<std::string> found = cache.LookupKernel(keys[i])) {
      binaries[i] = *std::move(found);
      continue;
    }
    missing.push_back(i);
    request.kernels.push_back({images[i]->symbol, std::string(images[i]->source), images[i]->uses});
  }
  Log("cache", absl::StrCat(images.size(), " kernels have no code for ", arch, ": ", missing.size(),
                            " of them are compiled, the others were found"));
  if (missing.empty()) return binaries;
  request.arch = arch;
  if (cache.readable()) request.kernel_cache = cache.folder();
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> compiled, workers.CompileImages(request));
  if (compiled.size() != missing.size()) return absl::InternalError("the compile worker left kernels out");
  for (size_t j = 0; j < missing.size(); ++j) {
    // (Also for other processes that wait for it.)
    TCC_ASSIGN_OR_RETURN(
        binaries[missing[j]],
        cache.GetOrBuildKernel(keys[missing[j]], [&]() -> absl::StatusOr<std::string> { return compiled[j]; }));
  }
  cache.Trim();
  return binaries;
}

}  // namespace

devices::CompileImages ImageCompiler(ArtifactCache& cache, WorkerPool& workers) {
  return [&cache, &workers](absl::Span<const KernelImageView* const> images, const std::string& arch) {
    return Compile(cache, workers, images, arch);
  };
}

void RegisterProcessImageCompiler() {
  static std::once_flag once;
  std::call_once(once, [] {
    devices::RegisterImageCompiler([](absl::Span<const KernelImageView* const> images, const std::string& arch) {
      return Compile(ArtifactCache::Global(), WorkerPool::Global(), images, arch);
    });
  });
}

}  // namespace tcc
