// The kernels of these tests, and through them the device library, compile for every architecture. Needs NVRTC, nothing
// else of CUDA.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "codegen/cuda/device/DeviceLibrary.h"
#include "gmock/gmock.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

void* OpenNvrtc() {
  if (const char* named = std::getenv("TCC_NVRTC")) {
    if (void* library = dlopen(named, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

class Nvrtc : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    library_ = OpenNvrtc();
    if (library_ == nullptr) GTEST_SKIP() << "no NVRTC here (TCC_NVRTC names one)";
  }
  template <typename... Args>
  int Call(const char* name, Args... args) {
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function == nullptr ? -1 : function(args...);
  }
  void* library_ = nullptr;
};

TEST_P(Nvrtc, CompilesWithoutWarning) {
  const auto [file, arch] = GetParam();
  std::vector<std::string> texts, names;
  for (const codegen::DeviceFile& f : codegen::deviceLibrary()) {
    texts.emplace_back(f.text);
    names.emplace_back(f.name);
  }
  std::vector<const char*> text_pointers, name_pointers;
  for (const std::string& text : texts) text_pointers.push_back(text.c_str());
  for (const std::string& name : names) name_pointers.push_back(name.c_str());
  void* program = nullptr;
  const std::string source = TextOf(file);
  ASSERT_FALSE(source.empty());
  ASSERT_EQ(Call("nvrtcCreateProgram", &program, source.c_str(), file, static_cast<int>(texts.size()),
                 text_pointers.data(), name_pointers.data()),
            0);
  const std::string option = std::string("--gpu-architecture=") + arch;
  const char* options[] = {option.c_str(), "--std=c++17"};
  const int result = Call("nvrtcCompileProgram", program, 2, static_cast<const char* const*>(options));
  size_t size = 0;
  Call("nvrtcGetProgramLogSize", program, &size);
  std::string log(size, '\0');
  Call("nvrtcGetProgramLog", program, log.data());
  EXPECT_EQ(result, 0) << log;
  EXPECT_LE(size, 1u) << log;
  size = 0;
  Call("nvrtcGetCUBINSize", program, &size);
  EXPECT_GT(size, 1000u);
  Call("nvrtcDestroyProgram", &program);
}

INSTANTIATE_TEST_SUITE_P(Files, Nvrtc,
                         testing::Combine(testing::Values("threads", "reduce", "elements", "tensor", "faults"),
                                          testing::Values("sm_80", "sm_90a", "sm_100", "sm_120")),
                         [](const auto& i) { return std::string(std::get<0>(i.param)) + "_" + std::get<1>(i.param); });

}  // namespace
}  // namespace tcc::sim
