// What the user reads when a kernel does not compile.
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string compileError(llvm::ArrayRef<KernelSource> kernels, const char* arch = "sm_80",
                         const CompileOptions& options = nvrtcOptions()) {
  return errorOf(KernelCompiler(options).compile(kernels, arch));
}

TEST(CudaCompileErrors, KernelOpAndLineAreNamed) {
  REQUIRE_NVRTC();
  KernelSource kernel = scaleKernel("scale_7", "factor_that_is_not_there");
  kernel.sources = {"Mul '/layer1/scale'", "Relu '/layer1/relu'"};
  EXPECT_THAT(compileError(kernel),
              AllOf(HasSubstr("kernel 'scale_7' does not compile for sm_80 (NVRTC "),
                    HasSubstr("made from: Mul '/layer1/scale', Relu '/layer1/relu'"),
                    HasSubstr("line 5: error: identifier \"factor_that_is_not_there\" is undefined"),
                    HasSubstr("  >    5 |   if (i < n) y[i] = x[i] * factor_that_is_not_there;"),
                    HasSubstr("       4 |   const long long i"), Not(HasSubstr("errors detected"))));
}

// A model may divide by zero, or compare what cannot be less: its kernels compile. For tests warnings are errors.
TEST(CudaCompileErrors, Warnings) {
  REQUIRE_NVRTC();
  KernelSource kernel = {"unused", "extern \"C\" __global__ void unused(float* y) {\n  int z = 3;\n  *y = 1;\n}\n", {}};
  EXPECT_THAT(compileError(kernel), AllOf(HasSubstr("kernel 'unused' compiles only with warnings for sm_80"),
                                          HasSubstr("line 2: warning #177-D"), HasSubstr(">    2 |   int z = 3;")));
  CompileOptions options = nvrtcOptions();
  options.warningsAreErrors = false;
  EXPECT_EQ(compileError(kernel, "sm_80", options), "no error");
  kernel = {"same",
            "#include \"tcc/device.cuh\"\nextern \"C\" __global__ void same(int* y) {\n  const int x = *y;\n  *y = x "
            "== x;\n}\n",
            {}};
  EXPECT_THAT(compileError(kernel, "sim"), HasSubstr("compiles only with warnings for cuda-sim"));
  EXPECT_EQ(compileError(kernel, "sim", options), "no error");
}

TEST(CudaCompileErrors, AnErrorInAHeaderShowsHowItWasReached) {
  REQUIRE_NVRTC();
  const DeviceHeader headers[] = {{"tcc/device.cuh", "#include \"tcc/inner.cuh\"\n"},
                                  {"tcc/inner.cuh",
                                   "template <typename T>\n__device__ T twice(T x) {\n"
                                   "  return x.value + x.value;\n}\n"}};
  CompileOptions options = nvrtcOptions();
  options.deviceLibrary = headers;
  EXPECT_THAT(compileError(scaleKernel("scale", "twice(1.0f)"), "sm_80", options),
              AllOf(HasSubstr("tcc/inner.cuh, line 3: error"), HasSubstr(">    3 |   return x.value + x.value;"),
                    HasSubstr("at line 5 of scale.cu")));
}

TEST(CudaCompileErrors, OfTheAssembler) {
  REQUIRE_NVRTC();
  KernelSource kernel = {"greedy",
                         "extern \"C\" __global__ void greedy(float* y) {\n  __shared__ float tile[100000];\n"
                         "  tile[threadIdx.x] = *y;\n  __syncthreads();\n  *y = tile[0];\n}\n",
                         {"Softmax 's'"}};
  EXPECT_THAT(compileError(kernel), AllOf(HasSubstr("kernel 'greedy' does not compile for sm_80"),
                                          HasSubstr("Softmax 's'"), HasSubstr("too much shared data")));
}

TEST(CudaCompileErrors, OfManyBrokenKernelsTheFirstAreShown) {
  REQUIRE_NVRTC();
  std::vector<KernelSource> kernels = scaleKernels(6);
  for (size_t i = 1; i < kernels.size(); ++i) kernels[i] = scaleKernel(kernels[i].symbol, "nothing");
  EXPECT_THAT(compileError(kernels), AllOf(HasSubstr("'scale_1'"), HasSubstr("'scale_2'"), HasSubstr("'scale_3'"),
                                           Not(HasSubstr("'scale_4'")), HasSubstr("and 2 more kernels")));
}

TEST(CudaCompileErrors, ATextWithoutTheKernel) {
  REQUIRE_NVRTC();
  KernelSource kernel = scaleKernel("scale");
  kernel.symbol = "other";
  EXPECT_THAT(compileError(kernel), HasSubstr("kernel 'other': its text defines no kernel of that name"));
}

TEST(CudaCompileErrors, Architectures) {
  EXPECT_THAT(compileError(scaleKernel("scale"), "sm90"), HasSubstr("'sm90' is no architecture"));
  REQUIRE_NVRTC();
  EXPECT_THAT(compileError(scaleKernel("scale"), "sm_999"),
              AllOf(HasSubstr("does not know sm_999"), HasSubstr("80, "), HasSubstr("compute_")));
}

TEST(CudaCompileErrors, WithoutNvrtc) {
  CompileOptions options;
  options.nvrtc = "/nonexistent/nvrtc";
  EXPECT_THAT(compileError(scaleKernel("scale"), "sm_80", options),
              AllOf(HasSubstr("'/nonexistent/nvrtc', which does not exist"), HasSubstr("nvidia-cuda-nvrtc")));
  const char* before = getenv("TCC_NVRTC");
  const std::string old = before == nullptr ? "" : before;  // (empty is as good as unset)
  setenv("TCC_NVRTC", "/nonexistent/elsewhere", 1);
  options.nvrtc.clear();
  EXPECT_THAT(compileError(scaleKernel("scale"), "sm_80", options),
              HasSubstr("TCC_NVRTC is '/nonexistent/elsewhere', which does not exist"));
  setenv("TCC_NVRTC", old.c_str(), 1);
}

TEST(CudaCompileErrors, WhatIsNotNvrtc) {
  TempFolder folder;
  WriteFile(folder / "libnvrtc.so.13", "not a library");
  CompileOptions options;
  options.nvrtc = folder.path();
  EXPECT_THAT(compileError(scaleKernel("scale"), "sm_80", options),
              AllOf(HasSubstr("NVRTC cannot be loaded"), HasSubstr("libnvrtc.so.13")));
}

TEST(CudaCompileErrors, WithoutCudaHeaders) {
  REQUIRE_NVRTC();
  KernelSource kernel = scaleKernel("scale");
  kernel.text = "#include <cuda_fp16.h>\n" + kernel.text;
  CompileOptions options = nvrtcOptions();
  options.cudaInclude = "/nonexistent/include";
  EXPECT_THAT(compileError(kernel, "sm_80", options),
              AllOf(HasSubstr("<cuda_fp16.h>"), HasSubstr("'/nonexistent/include', which holds no cuda_fp16.h")));
  // Nothing needs them that does not include them.
  EXPECT_EQ(compileError(scaleKernel("scale"), "sm_80", options), "no error");
}

TEST(CudaCompileErrors, CudaHeadersAreFound) {
  REQUIRE_NVRTC();
  llvm::Expected<std::string> folder = findCudaInclude("", nvrtcPlace());
  if (!folder) GTEST_SKIP() << llvm::toString(folder.takeError());
  KernelSource kernel = {"half_sum",
                         "#include <cuda_fp16.h>\nextern \"C\" __global__ void half_sum(__half* y, const __half* x) {\n"
                         "  y[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x + 32]);\n}\n",
                         {}};
  EXPECT_EQ(compileError(kernel), "no error");
}

}  // namespace
}  // namespace tcc::codegen
