// libFuzzer over the loader: build with -DTCC_BUILD_FUZZERS=ON -DTCC_SANITIZE=address,undefined, start from
// tests/zoo/*.onnx.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tcc::onnx::LoadOptions options;
  options.limits.nodes = 100'000;
  options.limits.inlinedBytes = 1 << 20;
  options.limits.denseBytes = 1 << 20;
  auto program = tcc::onnx::Program::parse({reinterpret_cast<const char*>(data), size}, "", options);
  if (!program.ok()) return 0;
  for (const auto& initializer : (*program)->graph().initializer()) (void)(*program)->tensor(initializer);
  for (const auto& initializer : (*program)->graph().sparse_initializer()) (void)(*program)->tensor(initializer);
  for (const auto& input : (*program)->inputs()) (void)input.toString();
  return 0;
}
