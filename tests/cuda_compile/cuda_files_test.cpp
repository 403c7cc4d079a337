#include <filesystem>

#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

/// Folders as NVIDIA lays them out, with empty files.
class CudaFiles : public testing::Test {
 protected:
  void touch(const std::string& name) { WriteFile(folder / name, "x"); }
  std::string find(const std::string& place = "") {
    llvm::Expected<std::string> found = findNvrtc(folder / place);
    return found ? *found : llvm::toString(found.takeError());
  }
  TempFolder folder;
};

TEST_F(CudaFiles, InAToolkit) {
  touch("lib64/libnvrtc.so.12");
  touch("lib64/libnvrtc.so.13");
  touch("lib64/libnvrtc.alt.so.14");
  touch("lib64/libnvrtc-builtins.so.13.0");
  touch("include/cuda_fp16.h");
  touch("bin/nvdisasm");
  EXPECT_THAT(find(), EndsWith("/lib64/libnvrtc.so.13"));
  EXPECT_THAT(find("lib64"), EndsWith("/lib64/libnvrtc.so.13"));
  EXPECT_THAT(find("lib64/libnvrtc.so.12"), EndsWith("/lib64/libnvrtc.so.12"));
  EXPECT_THAT(llvm::cantFail(findCudaInclude("", find())), EndsWith("/include"));
  std::filesystem::permissions(folder / "bin/nvdisasm", std::filesystem::perms::owner_all);
  EXPECT_THAT(llvm::cantFail(findCudaTool("nvdisasm", find())), EndsWith(folder.path() + "/bin/nvdisasm"));
}

TEST_F(CudaFiles, InAPythonEnvironment) {
  touch("lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  touch("lib/python3.11/site-packages/nvidia/cu13/include/cuda_fp16.h");
  EXPECT_THAT(find(), EndsWith("/nvidia/cu13/lib/libnvrtc.so.13"));
  EXPECT_THAT(find("lib/python3.11/site-packages"), EndsWith("/nvidia/cu13/lib/libnvrtc.so.13"));
  EXPECT_THAT(llvm::cantFail(findCudaInclude("", find())), EndsWith("/nvidia/cu13/include"));
  EXPECT_THAT(llvm::cantFail(findCudaInclude(folder.path(), "")), EndsWith("/nvidia/cu13/include"));
}

TEST_F(CudaFiles, InThePythonEnvironmentOfCuda12) {
  touch("lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  touch("lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda_fp16.h");
  EXPECT_THAT(find(), EndsWith("/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
  EXPECT_THAT(llvm::cantFail(findCudaInclude("", find())), EndsWith("/nvidia/cuda_runtime/include"));
}

TEST_F(CudaFiles, AFolderWithoutIt) {
  touch("lib/libother.so");
  EXPECT_THAT(find(), HasSubstr("holds no libnvrtc.so.*"));
}

TEST(CudaHeaders, WhatATextIncludes) {
  EXPECT_EQ(cudaHeaderIn("#include \"tcc/device.cuh\"\nint x;\n"), "");
  EXPECT_EQ(cudaHeaderIn("#include \"tcc/device.cuh\"\n # include  <cuda_bf16.h>\n"), "cuda_bf16.h");
  EXPECT_EQ(cudaHeaderIn("#include <math.h>\n#include <mma.h>\n"), "mma.h");
  EXPECT_EQ(cudaHeaderIn("// #include <cuda_bf16.h>\n#includes\n#include"), "");
}

}  // namespace
}  // namespace tcc::codegen
