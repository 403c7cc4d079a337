#include <mutex>

#include "codegen/cuda/compile/Cubin.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CudaCompile : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_NVRTC(); }
};

TEST_F(CudaCompile, CompilesForSeveralArchitectures) {
  KernelCompiler compiler(nvrtcOptions());
  for (const char* arch : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(scaleKernel("scale"), arch);
    ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
    ASSERT_EQ(binaries->size(), 1u);
    const KernelBinary& binary = binaries->front();
    EXPECT_EQ(binary.symbol, "scale");
    EXPECT_EQ(binary.arch, arch);
    EXPECT_THAT(binary.bytes, StartsWith("\177ELF"));
    EXPECT_FALSE(binary.cached);
    ASSERT_TRUE(binary.resources.has_value()) << arch;
    EXPECT_GE(binary.resources->registers, 8) << arch;
    EXPECT_LE(binary.resources->registers, 32) << arch;
    EXPECT_EQ(binary.resources->spillStores, 0) << arch;
    EXPECT_EQ(binary.resources->maxThreads, 256) << arch;
  }
}

TEST_F(CudaCompile, VirtualArchitecturesGivePtx) {
  KernelCompiler compiler(nvrtcOptions());
  llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(scaleKernel("scale"), "compute_80");
  ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
  EXPECT_THAT(binaries->front().bytes, HasSubstr(".target sm_80"));
  EXPECT_THAT(binaries->front().bytes, HasSubstr(".entry scale("));
  EXPECT_NE(binaries->front().bytes.back(), '\0');
  EXPECT_FALSE(binaries->front().resources.has_value());
}

TEST_F(CudaCompile, ResourcesAreThoseOfTheAssembler) {
  KernelCompiler compiler(nvrtcOptions());
  KernelSource shared = {"shared",
                         "extern \"C\" __global__ void __launch_bounds__(128) shared(float* y) {\n"
                         "  __shared__ float tile[1000];\n"
                         "  tile[threadIdx.x] = y[threadIdx.x];\n  __syncthreads();\n"
                         "  y[threadIdx.x] = tile[127 - threadIdx.x];\n}\n",
                         {}};
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile({shared, spillingKernel()}, arch);
    ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
    const KernelResources &small = *(*binaries)[0].resources, &large = *(*binaries)[1].resources;
    EXPECT_EQ(small.sharedBytes, 4000) << arch;
    EXPECT_EQ(small.spillStores + small.spillLoads + small.stack, 0) << arch;
    EXPECT_EQ(small.maxThreads, 128) << arch;
    EXPECT_EQ(large.registers, 64) << arch;
    EXPECT_GT(large.spillStores, 0) << arch;
    EXPECT_GT(large.spillLoads, 0) << arch;
    // What the cubin itself says.
    for (const KernelBinary& binary : *binaries) {
      std::optional<KernelResources> read = readCubin(binary.bytes, binary.symbol);
      ASSERT_TRUE(read.has_value()) << arch;
      EXPECT_EQ(read->registers, binary.resources->registers) << arch;
      EXPECT_EQ(read->stack, binary.resources->stack) << arch;
      EXPECT_EQ(read->sharedBytes, binary.resources->sharedBytes) << arch;
      EXPECT_FALSE(readCubin(binary.bytes, "other").has_value());
      EXPECT_FALSE(readCubin(llvm::StringRef(binary.bytes).take_front(100), binary.symbol).has_value());
    }
  }
}

// A number of blocks that costs spills is given up; what has but one block keeps them.
TEST_F(CudaCompile, FewerBlocksInsteadOfSpills) {
  KernelCompiler compiler(nvrtcOptions());
  KernelSource kernel = spillingKernel();
  const std::string bounds = "(1024)";
  kernel.text.replace(kernel.text.find(bounds), bounds.size(), "(256, 4)");
  llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile({kernel}, "sm_90a");
  ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
  EXPECT_EQ(binaries->front().resources->spillStores, 0);
  EXPECT_GT(binaries->front().resources->registers, 64);
}

TEST_F(CudaCompile, EqualTextsAreCompiledOnceAndOrderIsKept) {
  CompileOptions options = nvrtcOptions();
  size_t calls = 0, total = 0;
  options.progress = [&](size_t done, size_t all) {
    EXPECT_EQ(done, ++calls);
    total = all;
  };
  KernelCompiler compiler(options);
  std::vector<KernelSource> kernels = scaleKernels(3);
  kernels.push_back(kernels[1]);
  llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(kernels, "sm_80");
  ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
  ASSERT_EQ(binaries->size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ((*binaries)[i].symbol, kernels[i].symbol);
  EXPECT_EQ((*binaries)[3].bytes, (*binaries)[1].bytes);
  EXPECT_NE((*binaries)[2].bytes, (*binaries)[1].bytes);
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(total, 3u);
}

// Many kernels in several threads, with a precompiled header, give the bytes that each gives alone.
TEST_F(CudaCompile, BytesDependOnNothingButTheText) {
  CompileOptions options = nvrtcOptions();
  options.threads = 4;
  KernelCompiler compiler(options);
  const std::vector<KernelSource> kernels = scaleKernels(8);
  llvm::Expected<std::vector<KernelBinary>> together = compiler.compile(kernels, "sm_90a");
  ASSERT_TRUE(!!together) << llvm::toString(together.takeError());
  for (size_t i = 0; i < kernels.size(); i += 3) {
    llvm::Expected<std::vector<KernelBinary>> alone = compiler.compile(kernels[i], "sm_90a");
    ASSERT_TRUE(!!alone) << llvm::toString(alone.takeError());
    EXPECT_EQ(alone->front().bytes, (*together)[i].bytes);
  }
}

TEST_F(CudaCompile, OptionsReachTheCompiler) {
  KernelSource kernel = scaleKernel("divide");
  kernel.text = "extern \"C\" __global__ void divide(float* y, const float* x) { *y = x[0] / x[1]; }\n";
  std::string plain, fast, lines;
  for (std::string* bytes : {&plain, &fast, &lines}) {
    CompileOptions options = nvrtcOptions();
    options.fastMath = bytes == &fast;
    options.lineInfo = bytes == &lines;
    llvm::Expected<std::vector<KernelBinary>> binaries = KernelCompiler(options).compile(kernel, "sm_80");
    ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
    *bytes = binaries->front().bytes;
  }
  EXPECT_LT(fast.size(), plain.size());
  EXPECT_THAT(lines, HasSubstr(".debug_line"));
  EXPECT_THAT(plain, testing::Not(HasSubstr(".debug_line")));
}

TEST_F(CudaCompile, TheBestArchitectureForAGpu) {
  KernelCompiler compiler(nvrtcOptions());
  EXPECT_EQ(llvm::cantFail(compiler.bestArch(80)), "sm_80");
  EXPECT_EQ(llvm::cantFail(compiler.bestArch(90)), "sm_90a");
  // Newer than known: PTX of what is known.
  EXPECT_THAT(llvm::cantFail(compiler.bestArch(990)), StartsWith("compute_"));
  EXPECT_THAT(errorOf(compiler.bestArch(20)), HasSubstr("does not compile for GPUs of compute capability 2.0"));
}

TEST(CudaArchitectures, ComputeCapabilities) {
  EXPECT_EQ(computeCapabilityOf("sm_80"), 80);
  EXPECT_EQ(computeCapabilityOf("sm_90a"), 90);
  EXPECT_EQ(computeCapabilityOf("sm_120f"), 120);
  EXPECT_EQ(computeCapabilityOf("compute_100"), 100);
  for (const char* wrong : {"sim", "sm_", "sm_a", "sm_9", "sm_90b", "sm_90aa", "90", "", "sm_-80"})
    EXPECT_EQ(computeCapabilityOf(wrong), 0) << wrong;
}

}  // namespace
}  // namespace tcc::codegen
