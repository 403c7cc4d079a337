// The kernels of these tests, and through them the device library, compile for every architecture. Needs NVRTC, nothing
// else of CUDA.
#include <dlfcn.h>

#include <string>

#include "codegen/cuda/compile/CudaFiles.h"
#include "codegen/cuda/compile/KernelReport.h"
#include "codegen/cuda/device/DeviceLibrary.h"
#include "gmock/gmock.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

std::string NvrtcFile() {
  for (const char* place : {"", TCC_TEST_PYTHON_PREFIX}) {
    llvm::Expected<std::string> file = codegen::findNvrtc(place);
    if (file) return *file;
    llvm::consumeError(file.takeError());
  }
  return "";
}

class Nvrtc : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    library_ = dlopen(NvrtcFile().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (NvrtcFile().empty()) library_ = nullptr;
    if (library_ == nullptr) GTEST_SKIP() << "no NVRTC here (TCC_NVRTC names one)";
  }
  template <typename... Args>
  int Call(const char* name, Args... args) {
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function == nullptr ? -1 : function(args...);
  }
  // The cubin of a file of kernels.
  std::string Compile(const char* file, const char* arch);
  void* library_ = nullptr;
};

std::string Nvrtc::Compile(const char* file, const char* arch) {
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
  EXPECT_EQ(Call("nvrtcCreateProgram", &program, source.c_str(), file, static_cast<int>(texts.size()),
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
  Call("nvrtcGetCUBINSize", program, &size);
  std::string cubin(size, '\0');
  Call("nvrtcGetCUBIN", program, cubin.data());
  Call("nvrtcDestroyProgram", &program);
  return cubin;
}

TEST_P(Nvrtc, CompilesWithoutWarning) {
  const auto [file, arch] = GetParam();
  EXPECT_GT(Compile(file, arch).size(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Narrow, Nvrtc, testing::Combine(testing::Values("narrow"), testing::Values("sm_90a")));
INSTANTIATE_TEST_SUITE_P(Files, Nvrtc,
                         testing::Combine(testing::Values("threads", "reduce", "elements", "tensor", "pipeline",
                                                          "warpgroup", "tma", "faults"),
                                          testing::Values("sm_80", "sm_90a", "sm_100", "sm_120")),
                         [](const auto& i) { return std::string(std::get<0>(i.param)) + "_" + std::get<1>(i.param); });

// Each wrapper is the instruction that it is called after.
class Sass : public Nvrtc {};
TEST_P(Sass, HasTheInstructions) {
  const auto [file, names] = GetParam();
  const std::string cubin = Compile(file, "sm_90a");
  llvm::Expected<std::string> listing = codegen::disassemble(cubin, NvrtcFile());
  if (!listing) {  // beside the NVRTC of the build's Python environment, where there is one
    llvm::consumeError(listing.takeError());
    llvm::Expected<std::string> other = codegen::findNvrtc(TCC_TEST_PYTHON_PREFIX);
    if (other)
      listing = codegen::disassemble(cubin, *other);
    else
      listing = other.takeError();
  }
  if (!listing) GTEST_SKIP() << llvm::toString(listing.takeError());
  for (std::string_view rest = names; !rest.empty();) {
    const std::string name(rest.substr(0, rest.find(' ')));
    EXPECT_NE(listing->find(name), std::string::npos) << name;
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Files, Sass,
    testing::Values(
        std::make_tuple("tensor",
                        "HMMA.16816.F32 HMMA.16816.F32.BF16 HMMA.1688.F32.TF32 IMMA.16832.S8.S8 IMMA.16832.U8.U8 "
                        "IMMA.16832.S8.U8 IMMA.16832.U8.S8 LDSM.16.M88.4 LDSM.16.MT88.2 LDGSTS.E.BYPASS.128 "
                        "LDGSTS.E.BYPASS.128.ZFILL LDGSTS.E.64.ZFILL LDGDEPBAR"),
        std::make_tuple("pipeline",
                        "BAR.ARV SYNCS.ARRIVE.TRANS64 SYNCS.PHASECHK.TRANS64.TRYWAIT UBLKCP.S.G UBLKCP.G.S"),
        std::make_tuple("tma", "UTMALDG.2D UTMALDG.3D UTMACCTL HGMMA.64x256x16.F32 HGMMA.64x64x16.F32.BF16"),
        std::make_tuple("warpgroup",
                        "HGMMA.64x64x16.F32 HGMMA.64x128x16.F32.BF16 HGMMA.64x256x16.F32 WARPGROUP.ARRIVE"),
        std::make_tuple("elements", "LDG.E.128 STG.E.128 ATOMG RED")),
    [](const auto& i) { return std::string(std::get<0>(i.param)); });

}  // namespace
}  // namespace tcc::sim
