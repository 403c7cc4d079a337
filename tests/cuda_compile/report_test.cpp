#include "codegen/cuda/compile/KernelReport.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::HasSubstr;

Occupancy occupancy(int capability, int threads, int registers, int64_t shared = 0, int64_t dynamicShared = 0) {
  KernelResources resources;
  resources.registers = registers;
  resources.sharedBytes = shared;
  return occupancyOf(*limitsOf(capability), resources, threads, dynamicShared);
}

// By hand, from the programming guide's table.
TEST(KernelReport, OccupancyByEachLimit) {
  Occupancy all = occupancy(80, 256, 32);
  EXPECT_EQ(all.blocks, 8);
  EXPECT_EQ(all.warps, 64);
  EXPECT_EQ(all.fraction(), 1.0);
  EXPECT_EQ(all.limiter, "warps");
  // 65536 / (128 * 256) = 2 blocks.
  EXPECT_EQ(occupancy(90, 256, 128).blocks, 2);
  EXPECT_EQ(occupancy(90, 256, 128).limiter, "registers");
  // 33 registers are 40 for each thread: 1280 for a warp, 12 warps for each of 4 schedulers, 48 for all.
  EXPECT_EQ(occupancy(80, 256, 33).blocks, 6);
  // 164 KiB / (40 KiB + 1 KiB) = 4.
  EXPECT_EQ(occupancy(80, 128, 32, 40 << 10).blocks, 4);
  EXPECT_EQ(occupancy(80, 128, 32, 40 << 10).limiter, "shared memory");
  EXPECT_EQ(occupancy(90, 128, 128, 0, 100 << 10).blocks, 2);
  EXPECT_EQ(occupancy(80, 32, 16).blocks, 32);
  EXPECT_EQ(occupancy(80, 32, 16).limiter, "blocks");
  EXPECT_EQ(occupancy(120, 1024, 32).blocks, 1);  // 48 warps
}

TEST(KernelReport, WhatCannotBeLaunched) {
  EXPECT_EQ(occupancy(80, 128, 32, 0, 164 << 10).blocks, 0);
  EXPECT_EQ(occupancy(90, 128, 32, 0, 227 << 10).blocks, 1);
  EXPECT_EQ(occupancy(80, 1024, 65).blocks, 0);  // 72 * 1024 > 65536
  EXPECT_EQ(occupancy(80, 1024, 64).blocks, 1);
  EXPECT_EQ(occupancy(80, 2048, 16).blocks, 0);
}

TEST(KernelReport, LimitsOfWhatIsNotInTheTable) {
  EXPECT_EQ(limitsOf(90)->computeCapability, 90);
  EXPECT_EQ(limitsOf(106)->computeCapability, 103);
  EXPECT_EQ(limitsOf(70), nullptr);
  EXPECT_EQ(limitsOf(0), nullptr);
}

TEST(KernelReport, InstructionsOfAListing) {
  const SassCounts counts = countSass(
      "\t.section\t.text.k,\"ax\",@progbits\n"
      ".text.k:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "        /*0010*/               @P0 BRA `(.L_x_1) ;\n"
      ".L_x_2:\n"
      "        /*0020*/                   LDG.E.128.CONSTANT R8, desc[UR6][R8.64] ;\n"
      "        /*0030*/                   HMMA.16816.F32 R4, R8, R2, R4 ;\n"
      "        /*0040*/                   HMMA.16816.F32 R4, R8, R2, R4 ;\n"
      "        /*0050*/              @!P0 BRA `(.L_x_2) ;\n"
      ".L_x_1:\n"
      "        /*0060*/                   HMMA.16816.F32 R4, R8, R2, R4 ;\n"
      "        /*0070*/                   STG.E.64 desc[UR6][R2.64], R4 ;\n"
      "        /*0080*/                   EXIT ;\n"
      ".L_x_3:\n"
      "        /*0090*/                   BRA `(.L_x_3);\n"
      "        /*00a0*/                   NOP;\n");
  EXPECT_EQ(counts.total, 10);
  EXPECT_EQ(counts.count("HMMA"), 3);
  EXPECT_EQ(counts.countInLoops("HMMA"), 2);
  EXPECT_EQ(counts.count("LDG"), 1);
  EXPECT_EQ(counts.count("LDG.128"), 1);
  EXPECT_EQ(counts.count("STG.64"), 1);
  EXPECT_EQ(counts.count("STG.128"), 0);
  EXPECT_EQ(counts.countInLoops("STG"), 0);
  EXPECT_EQ(counts.countInLoops("BRA"), 1);
}

class KernelReportSass : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NVRTC();
    setenv("TCC_CUDA_TOOLS", TCC_TEST_PYTHON_PREFIX, 0);
    llvm::Expected<std::string> tool = findCudaTool("nvdisasm", nvrtcPlace());
    if (!tool) GTEST_SKIP() << llvm::toString(tool.takeError());
  }
  KernelReport report(const KernelSource& kernel, const char* arch) {
    llvm::Expected<std::vector<KernelBinary>> binaries = KernelCompiler(nvrtcOptions()).compile(kernel, arch);
    if (!binaries) {
      ADD_FAILURE() << llvm::toString(binaries.takeError());
      return {};
    }
    llvm::Expected<KernelReport> result = reportKernel(binaries->front());
    if (result) return *result;
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
};

TEST_F(KernelReportSass, TensorCoresCopiesAndWideAccesses) {
  KernelSource kernel = {"tiles",
                         R"(extern "C" __global__ void __launch_bounds__(128) tiles(float4* y, const uint4* x, int n) {
  __shared__ uint4 tile[256];
  float c[4] = {0, 0, 0, 0};
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(x + i * 128 + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    const uint4 a = tile[(threadIdx.x + 1) % 128];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(a.x), "r"(a.y));
    __syncthreads();
  }
  y[threadIdx.x] = make_float4(c[0], c[1], c[2], c[3]);
}
)",
                         {}};
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    const KernelReport result = report(kernel, arch);
    ASSERT_TRUE(result.sass.has_value()) << arch;
    EXPECT_GE(result.sass->countInLoops("HMMA"), 1) << arch;
    EXPECT_GE(result.sass->countInLoops("LDGSTS"), 1) << arch;
    EXPECT_GE(result.sass->countInLoops("LDS.128"), 1) << arch;
    EXPECT_EQ(result.sass->count("STG.128"), 1) << arch;
    EXPECT_EQ(result.sass->countInLoops("STG.128"), 0) << arch;
    EXPECT_EQ(result.sass->count("STL"), 0) << arch;
    EXPECT_EQ(result.threadsPerBlock, 128) << arch;
    ASSERT_TRUE(result.occupancy.has_value()) << arch;
    EXPECT_GE(result.occupancy->blocks, 8) << arch;
    const std::string table = formatReports(result);
    EXPECT_THAT(table, HasSubstr("tiles"));
    EXPECT_THAT(table, HasSubstr("HMMA (1 in loops)"));
  }
}

TEST_F(KernelReportSass, SpillsShow) {
  const KernelReport result = report(spillingKernel(), "sm_80");
  ASSERT_TRUE(result.sass.has_value());
  EXPECT_GT(result.resources.spillStores, 0);
  EXPECT_GT(result.sass->count("STL"), 0);
  EXPECT_GT(result.sass->count("LDL"), 0);
}

TEST(KernelReport, OfWhatIsNoCubin) {
  KernelBinary binary = {"k", "compute_80", "// PTX", std::nullopt, false};
  EXPECT_THAT(errorOf(reportKernel(binary)), HasSubstr("kernel 'k' for compute_80 is no cubin"));
}

}  // namespace
}  // namespace tcc::codegen
