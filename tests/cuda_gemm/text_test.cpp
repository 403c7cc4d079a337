// What the texts of kernels hold, what NVRTC makes of them, and that a fault in a template would be found.
#include <cstdlib>

#include "codegen/cuda/compile/KernelReport.h"
#include "tests/codegen_gemm/attention_case.h"
#include "tests/codegen_gemm/conv_case.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

Case Plain(const std::string& m, const std::string& n, const std::string& k, const std::string& element) {
  std::string a = Type({m, k}, element), b = Type({k, n}, element), y = Type({m, n}, element);
  return {.text = Kernel({a, b}, "    %c = tcc.matmul %a0, %a1 : (" + a + ", " + b + ") -> " + y + "\n", "%c", {y})};
}

// Runs a product of halves whose text was changed; whether the results are right, and the error.
bool RunsRight(const std::string& from, const std::string& to, std::string* error) {
  constexpr int kM = 32, kN = 64, kK = 64;
  Case test = Plain(std::to_string(kM), std::to_string(kN), std::to_string(kK), "f16");
  KernelCode code;
  std::vector<KernelSource> texts = CudaTexts(test, "sim", &code);
  EXPECT_EQ(texts.size(), 1u);
  std::string& text = texts[0].text;
  if (!from.empty()) {
    EXPECT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
  }
  alignas(256) static _Float16 a[kM * kK], b[kK * kN], y[kM * kN];
  for (int i = 0; i < kM * kK; ++i) a[i] = static_cast<_Float16>(i * 7 % 13 - 6);
  for (int i = 0; i < kK * kN; ++i) b[i] = static_cast<_Float16>(i * 5 % 11 - 5);
  const LaunchSpec& launch = code.launches[0];
  Buffer all[] = {{a, sizeof(a)}, {b, sizeof(b)}, {y, sizeof(y)}};
  std::vector<Buffer> buffers;
  for (int32_t buffer : launch.buffers) buffers.push_back(all[buffer]);
  *error = RunOnSim(texts[0], buffers, {}, gemm::evaluate(launch.device->grid[0], {}, {}), launch.device->block[0],
                    gemm::evaluate(launch.device->sharedBytes, {}, {}));
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += static_cast<float>(a[i * kK + k]) * static_cast<float>(b[k * kN + j]);
      if (static_cast<float>(y[i * kN + j]) != static_cast<float>(static_cast<_Float16>(sum))) return false;
    }
  return true;
}

TEST(CudaGemmFaults, AreFound) {
  std::string error;
  EXPECT_TRUE(RunsRight("", "", &error));
  EXPECT_EQ(error, "");
  // A fragment whose two halves of k are taken the other way round.
  const std::string include = "#include \"tcc/gemm.cuh\"\n";
  EXPECT_FALSE(
      RunsRight(include,
                "#include \"tcc/device.cuh\"\n"
                "namespace tcc { template <class T> TCC_DEVICE void swapped(float (&d)[4], const unsigned (&a)[4], "
                "const unsigned (&b)[2]) { unsigned c[4] = {a[2], a[3], a[0], a[1]}; mma_m16n8k16<T>(d, c, b); } "
                "}\n#define mma_m16n8k16 swapped\n" +
                    include,
                &error));
  EXPECT_EQ(error, "");  // nothing but the result is wrong
  // Without the barriers tiles are read before they are there.
  RunsRight(include, "#include \"tcc/device.cuh\"\n#define __syncthreads() static_cast<void>(0)\n" + include, &error);
  EXPECT_NE(error, "");
}

// NVRTC, where there is one: no spills, asynchronous copies, tensor cores.
class CudaGemmCode : public ::testing::TestWithParam<const char*> {};

struct Wanted {
  Case test;
  const char* multiply;  // the instruction of its main loop
  bool async = true;     // fed by cp.async
};

TEST_P(CudaGemmCode, HasNoSpillsAndTheInstructionsItIsMadeFor) {
  KernelCompiler compiler{CompileOptions{}};
  if (auto version = compiler.compilerVersion(GetParam()); !version)
    GTEST_SKIP() << llvm::toString(version.takeError());
  std::vector<Wanted> wanted;
  for (std::string element : {"f32", "f16", "bf16"}) {
    const char* multiply = element == "f32" ? "FFMA" : "HMMA";
    wanted.push_back({Plain("4096", "4096", "4096", element), multiply});
    // Elements of 16 bits that are alone in memory pass through registers.
    wanted.push_back({Plain("100", "99", "99", element), multiply, element == "f32"});
    if (element == "bf16") continue;  // as f16
    const ConvShape conv{8, 64, 64, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    wanted.push_back({ConvCase(conv, true, false, element), multiply});
    wanted.back().test.constants = {1};
    wanted.push_back({ConvCase(conv, false, false, element), multiply, element == "f32"});
    for (int width : {64, 128, 256})
      wanted.push_back({AttentionCase({.heads = 4,
                                       .key_heads = 2,
                                       .queries = 197,
                                       .keys = 197,
                                       .depth = width,
                                       .width = width,
                                       .causal = true,
                                       .mask = {"S", "T"},
                                       .element = element},
                                      false),
                        multiply});
  }
  std::vector<KernelSource> texts;
  for (const Wanted& want : wanted) {
    KernelCode code;
    std::vector<KernelSource> made = CudaTexts(want.test, GetParam(), &code);
    ASSERT_FALSE(made.empty());
    texts.push_back(made.front());
  }
  auto binaries = compiler.compile(texts, GetParam());
  ASSERT_TRUE(static_cast<bool>(binaries)) << llvm::toString(binaries.takeError());
  for (auto [binary, want, text] : llvm::zip_equal(*binaries, wanted, texts)) {
    SCOPED_TRACE(text.text);
    auto report = reportKernel(binary);
    ASSERT_TRUE(static_cast<bool>(report)) << llvm::toString(report.takeError());
    EXPECT_EQ(report->resources.spillStores, 0);
    EXPECT_EQ(report->resources.spillLoads, 0);
    if (!report->sass) continue;  // no nvdisasm
    EXPECT_GT(report->sass->countInLoops(want.multiply), 0);
    EXPECT_EQ(report->sass->countInLoops("LDGSTS") > 0, want.async);
    EXPECT_EQ(report->sass->count("LDL") + report->sass->count("STL"), 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Architectures, CudaGemmCode, ::testing::Values("sm_80", "sm_90a", "sm_100", "sm_120"));

}  // namespace
}  // namespace tcc::codegen::testing
