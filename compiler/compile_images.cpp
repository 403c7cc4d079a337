#include "compiler/compile_images.h"

#include "codegen/cuda/compile/KernelCompiler.h"
#include "runtime/cache.h"

namespace tcc {
namespace {

absl::Status ToStatus(llvm::Error error) { return absl::FailedPreconditionError(llvm::toString(std::move(error))); }

}  // namespace

absl::StatusOr<std::vector<std::string>> CompileKernelImages(const ImageRequest& request) {
  codegen::CompileOptions options;
  if (!request.kernel_cache.empty()) {
    ArtifactCache::Options cache;
    cache.folder = request.kernel_cache;
    options.cache = ArtifactCache::Open(cache);
  }
  std::vector<codegen::KernelSource> kernels;
  for (const ImageRequest::Kernel& kernel : request.kernels) {
    kernels.push_back({kernel.symbol, kernel.source, kernel.uses});
  }
  codegen::KernelCompiler compiler(std::move(options));
  std::string arch = request.arch;
  if (const int capability = codegen::computeCapabilityOf(arch); capability > 0) {
    llvm::Expected<std::string> best = compiler.bestArch(capability);
    if (!best) return ToStatus(best.takeError());
    arch = std::move(*best);
  }
  llvm::Expected<std::vector<codegen::KernelBinary>> compiled = compiler.compile(kernels, arch);
  if (!compiled) return ToStatus(compiled.takeError());
  std::vector<std::string> binaries;
  for (codegen::KernelBinary& binary : *compiled) binaries.push_back(std::move(binary.bytes));
  return binaries;
}

}  // namespace tcc
