// libFuzzer over the other files that users give: arrays (.npy, .npz), values (.pb), packages and the plans in them.
// The first byte says which. Build with -DTCC_BUILD_FUZZERS=ON -DTCC_SANITIZE=address,undefined.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/onnx/program/ValueFile.h"
#include "runtime/npy.h"
#include "runtime/package.h"
#include "runtime/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t kind = data[0] % 6;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const int file = memfd_create("input", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return 0;
  using tcc::onnx::ValueInfo;
  switch (kind) {
    case 0:
      (void)tcc::ReadNpy(text);
      break;
    case 1:
      (void)tcc::LoadNpz(path);
      break;
    case 2:
      (void)tcc::onnx::loadValueFile(path, ValueInfo::Kind::Tensor);
      break;
    case 3:
      (void)tcc::onnx::loadValueFile(path, ValueInfo::Kind::Sequence);
      break;
    case 4:
      if (const auto package = tcc::Package::Open(path); package.ok()) {
        for (int i = 0; i < (*package)->size(); ++i) (void)(*package)->ReadPlan(i);
      }
      break;
    default:
      if (const auto plan = tcc::PlanFromJson(text); plan.ok()) (void)tcc::ValidatePlan(*plan);
  }
  return 0;
}
