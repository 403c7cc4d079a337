//===- CudaFiles.cpp -------------------------------------------------------===//
#include "codegen/cuda/compile/CudaFiles.h"

#include "absl/status/statusor.h"
#include "runtime/cuda_files.h"

namespace tcc::codegen {
namespace {

llvm::Expected<std::string> expected(const absl::StatusOr<std::string> &found) {
  if (found.ok())
    return *found;
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", std::string(found.status().message()).c_str());
}

} // namespace

llvm::Expected<std::string> findNvrtc(llvm::StringRef place) {
  return expected(FindNvrtc({place.data(), place.size()}));
}

llvm::Expected<std::string> findCudaInclude(llvm::StringRef place, llvm::StringRef nvrtc) {
  return expected(FindCudaInclude({place.data(), place.size()}, {nvrtc.data(), nvrtc.size()}));
}

llvm::Expected<std::string> findCudaTool(llvm::StringRef name, llvm::StringRef nvrtc) {
  return expected(FindCudaTool({name.data(), name.size()}, {nvrtc.data(), nvrtc.size()}));
}

std::string cudaHeaderIn(llvm::StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef directive = line.ltrim();
    if (!directive.consume_front("#"))
      continue;
    directive = directive.ltrim();
    if (!directive.consume_front("include"))
      continue;
    directive = directive.ltrim();
    if (!directive.consume_front("<"))
      continue;
    llvm::StringRef name = directive.split('>').first;
    if (name.starts_with("cuda") || name.starts_with("cooperative_groups") || name.starts_with("cub/") ||
        name == "mma.h")
      return name.str();
  }
  return "";
}

} // namespace tcc::codegen
