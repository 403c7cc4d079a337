// A process of its own that compiles kernels: compile_kernels CACHE NVRTC ARCH COUNT
// prints how many it had to compile, and whether NVRTC was loaded.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#define TCC_TEST_PYTHON_PREFIX ""
#include "tests/cuda_compile/compile_test_util.h"

using namespace tcc;
using namespace tcc::codegen;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  CompileOptions options;
  ArtifactCache::Options cacheOptions;
  cacheOptions.folder = argv[1];
  options.cache = ArtifactCache::Open(cacheOptions);
  options.nvrtc = argv[2];
  KernelCompiler compiler(options);
  llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(scaleKernels(std::atoi(argv[4])), argv[3]);
  if (!binaries) {
    std::printf("%s\n", llvm::toString(binaries.takeError()).c_str());
    return 1;
  }
  int compiled = 0;
  for (const KernelBinary& binary : *binaries) compiled += binary.cached ? 0 : 1;
  std::stringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  std::printf("compiled %d, NVRTC %s\n", compiled,
              maps.str().find("libnvrtc") == std::string::npos ? "not loaded" : "loaded");
  return 0;
}
