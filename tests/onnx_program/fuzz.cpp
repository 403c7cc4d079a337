// libFuzzer over the two readers of model files: build with -DTCC_BUILD_FUZZERS=ON -DTCC_SANITIZE=address,undefined,
// start from tests/zoo/*.onnx.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/onnx/program/Interface.h"
#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tcc::onnx::LoadOptions options;
  options.limits.nodes = 100'000;
  options.limits.inlinedBytes = 1 << 20;
  options.limits.denseBytes = 1 << 20;
  // The quick reader takes a file.
  static const int file = memfd_create("model", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  if (const auto quick = tcc::onnx::readInterface("/proc/self/fd/" + std::to_string(file)); quick.ok()) {
    for (const auto& input : quick->inputs) (void)input.toString();
  }
  auto program = tcc::onnx::Program::parse({reinterpret_cast<const char*>(data), size}, "", options);
  if (!program.ok()) return 0;
  for (const auto& initializer : (*program)->graph().initializer()) (void)(*program)->tensor(initializer);
  for (const auto& initializer : (*program)->graph().sparse_initializer()) (void)(*program)->tensor(initializer);
  for (const auto& input : (*program)->inputs()) (void)input.toString();
  return 0;
}
