#include "tests/cuda_compile/gpu_code.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::devices {

std::string TestSource(const std::string& file) {
  const char* folder = std::getenv("TCC_TEST_SOURCES");
  std::stringstream text;
  text << std::ifstream(std::string(folder != nullptr ? folder : TCC_TESTS) + "/" + file).rdbuf();
  return text.str();
}

absl::StatusOr<std::string> GpuCode(const ComputeDevice& gpu, const std::string& file, const std::string& symbol) {
  static auto* const compiler = new codegen::KernelCompiler({});
  static auto* const known = new std::map<std::string, std::string>;
  std::string& code = (*known)[file];
  if (!code.empty()) return code;
  llvm::Expected<std::string> arch = compiler->bestArch(gpu.properties().compute_capability);
  if (!arch) return absl::UnavailableError(llvm::toString(arch.takeError()));
  codegen::KernelSource source;
  source.symbol = symbol;
  source.text = TestSource(file);
  auto binaries = compiler->compile(source, *arch);
  if (!binaries) return absl::InternalError(llvm::toString(binaries.takeError()));
  return code = binaries->front().bytes;
}

}  // namespace tcc::devices
