// What the key of a compiled model says of the compilers of this machine.
#include "compiler/this_machine.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using testing::HasSubstr;

class ToolchainIdentityTest : public testing::Test {
 protected:
  void Set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.try_emplace(name, before == nullptr ? "" : before);
    setenv(name.c_str(), value.c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  std::string Identity() { return ToolchainIdentity(TargetSpec::Kind::kCuda); }

  TempFolder folder_;

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(ToolchainIdentityTest, ChangesWithNvrtcWhereverItIsFound) {
  const struct {
    const char *variable, *folder;
  } places[] = {
      {"TCC_NVRTC", "env/lib/python3.12/site-packages/nvidia/cu13/lib"},  // a wheel, by its environment
      {"TCC_NVRTC", "old/lib/python3.10/site-packages/nvidia/cuda_nvrtc/lib"},
      {"TCC_NVRTC", "toolkit/targets/x86_64-linux/lib"},
      {"LD_LIBRARY_PATH", "folder"},
  };
  Set("TCC_NVRTC", "");
  for (const auto& place : places) {
    const std::string library = folder_ / std::string(place.folder) + "/libnvrtc.so.13";
    const std::string name(place.folder);
    const std::string none = Identity();
    WriteFile(library, "one");
    Set(place.variable, folder_ / name.substr(0, name.find('/')));
    const std::string one = Identity();
    EXPECT_NE(one, none) << library;
    EXPECT_THAT(one, HasSubstr("libnvrtc.so.13 3.")) << library;
    WriteFile(library, "another");
    EXPECT_NE(Identity(), one) << library;
    Set(place.variable, "");
  }
}

TEST_F(ToolchainIdentityTest, ChangesWithTheHeaders) {
  WriteFile(folder_ / "include/cuda_fp16.h", "one");
  Set("TCC_CUDA_INCLUDE", folder_ / "include");
  const std::string one = Identity();
  WriteFile(folder_ / "include/cuda_fp16.h", "another");
  EXPECT_NE(Identity(), one);
}

// Code for this machine may call them where they are.
TEST_F(ToolchainIdentityTest, ChangesWithTheLibraries) {
  Set("TCC_CUBLASLT", "");
  Set("TCC_CUDNN", "");
  Set("LD_LIBRARY_PATH", folder_ / "lib");
  const std::string none = Identity();
  WriteFile(folder_ / "lib/libcublasLt.so.13", "one");
  const std::string one = Identity();
  EXPECT_NE(one, none);
  WriteFile(folder_ / "lib/libcudnn.so.9", "one");
  const std::string both = Identity();
  EXPECT_NE(both, one);
  WriteFile(folder_ / "chosen.so", "one");
  Set("TCC_CUDNN", folder_ / "chosen.so");
  const std::string chosen = Identity();
  EXPECT_NE(chosen, both);
  WriteFile(folder_ / "chosen.so", "another");
  EXPECT_NE(Identity(), chosen);
}

}  // namespace
}  // namespace tcc
