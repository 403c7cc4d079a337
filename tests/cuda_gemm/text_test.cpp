// That a fault in a template would be found, and what NVRTC makes of the texts of kernels.
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "codegen/cuda/compile/KernelReport.h"
#include "tests/codegen_gemm/attention_case.h"
#include "tests/codegen_gemm/conv_case.h"
#include "tests/cuda_compile/compile_test_util.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

Case Plain(const std::string& m, const std::string& n, const std::string& k, const std::string& element) {
  std::string a = Type({m, k}, element), b = Type({k, n}, element), y = Type({m, n}, element);
  return {.text = Kernel({a, b}, "    %c = tcc.matmul %a0, %a1 : (" + a + ", " + b + ") -> " + y + "\n", "%c", {y})};
}

// A square of bytes as int32.
std::string Widen(const std::string& name, const std::string& from, const std::string& n) {
  return "    " + name + " = tcc.loops " + List({n, n}) + " reduce 0 [] {\n    " + BlockArguments(2) +
         "\n      %v = tcc.load " + from + "[" + Identity(2) + "](%i0, %i1) : " + Type({n, n}, "i8") +
         " -> i8\n      %w = arith.extsi %v : i8 to i32\n      tcc.yield %w : i32\n    } : " + Type({n, n}, "i32") +
         "\n";
}

// Puts text before the template that the kernel includes, behind the rest of the device library.
void Before(std::string& text, const std::string& added) {
  size_t at = text.find("#include \"tcc/");
  ASSERT_NE(at, std::string::npos) << text;
  text.insert(at, "#include \"tcc/device.cuh\"\n" + added);
}
void Replace(std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " is not in\n" << text;
  text.replace(at, from.size(), to);
}

struct Faulty {
  const char* name;
  Case test;
  cuda::ScheduleOptions options = {};
};
std::vector<Faulty> FaultCases() {
  const std::string a = Type({"32", "64"}, "f16"), b = Type({"64", "64"}, "f16"), y = Type({"32", "64"}, "f16");
  const Case transposed{.text = Kernel({a, b},
                                       Read("%tb", {"64", "64"}, "%a1", "affine_map<(d0, d1) -> (d1, d0)>", b, "f16") +
                                           "    %c = tcc.matmul %a0, %tb : (" + a + ", " + b + ") -> " + y + "\n",
                                       "%c", {y})};
  return {
      {"matmul", Plain("32", "64", "128", "f16")},
      {"wgmma", transposed, {.wgmma = true}},
      {"conv", ConvCase({1, 32, 32, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, true, false, "f16")},
      {"attention", AttentionCase({.heads = 1, .key_heads = 1, .queries = 17, .keys = 70, .element = "f16"}, false)},
      {"wide attention", AttentionCase({.heads = 1, .key_heads = 1, .queries = 2, .keys = 40, .depth = 300}, false)}};
}

// Without barriers, what other threads wrote is read before it is there.
TEST(CudaGemmFaults, MissingBarriers) {
  for (const Faulty& fault : FaultCases()) {
    SCOPED_TRACE(fault.name);
    EXPECT_EQ(FaultOf(fault.test, [](std::string&) {}, fault.options), "");
    EXPECT_NE(FaultOf(
                  fault.test, [](std::string& text) { Before(text, "#define __syncthreads() static_cast<void>(0)\n"); },
                  fault.options),
              "");
  }
}
// Sums that blocks share: without the fence, or where the counter is no atomic one, nothing says that the last block
// sees what the others wrote.
TEST(CudaGemmFaults, SplitSums) {
  const Case test = Plain("3", "36", "1030", "f16");
  ASSERT_NE(CudaTexts(test, "sim")[0].text.find("Parts<"), std::string::npos);
  const auto with = [&](const std::string& macro) {
    return FaultOf(test, [&](std::string& text) { text.insert(0, "#include \"tcc/platform.cuh\"\n" + macro + "\n"); });
  };
  EXPECT_EQ(with(""), "");
  EXPECT_NE(with("#define __threadfence() static_cast<void>(0)").find("race"), std::string::npos);
  EXPECT_NE(with("#define atomicInc(address, most) (*(address) == (most) ? (*(address) = 0, (most)) : (*(address))++)")
                .find("race"),
            std::string::npos);
  EXPECT_NE(with("#define atomicInc(address, most) (most)"), "");
}
// An index that is one too great leaves a buffer, or is not where a vector may be.
TEST(CudaGemmFaults, WrongIndices) {
  for (const Faulty& fault : FaultCases()) {
    SCOPED_TRACE(fault.name);
    EXPECT_NE(FaultOf(
                  fault.test, [](std::string& text) { Replace(text, "return data + (", "return data + (1 + "); },
                  fault.options),
              "");
  }
}
// Fragments whose two halves of k are taken the other way round: nothing but the results is wrong.
TEST(CudaGemmFaults, WrongFragments) {
  for (const Faulty& fault : FaultCases()) {
    SCOPED_TRACE(fault.name);
    const bool mma = fault.name != std::string("wgmma") && fault.name != std::string("wide attention");
    if (!mma) continue;
    EXPECT_EQ(FaultOf(fault.test,
                      [](std::string& text) {
                        Before(
                            text,
                            "namespace tcc { template <class T> TCC_DEVICE void swapped(float (&d)[4], const unsigned "
                            "(&a)[4], const unsigned (&b)[2]) { unsigned c[4] = {a[2], a[3], a[0], a[1]}; "
                            "mma_m16n8k16<T>(d, c, b); } }\n#define mma_m16n8k16 swapped\n");
                      }),
              "wrong results");
  }
  // Descriptors of wgmma whose rows are not permuted as the tile is.
  EXPECT_NE(
      FaultOf(FaultCases()[1].test, [](std::string& text) { Before(text, "#define k128 k64\n"); }, {.wgmma = true}),
      "");
}

// Tiles by TMA: without barriers or waits, at another place, or taken to lie the other way.
TEST(CudaGemmFaults, TilesByTma) {
  const cuda::ScheduleOptions options{.tma = true};
  const Case tests[] = {FaultCases()[1].test, Plain("64", "128", "200", "f16")};
  for (const bool rows : {false, true}) {
    SCOPED_TRACE(rows);
    const auto fault = [&](const std::function<void(std::string&)>& change) {
      return FaultOf(tests[rows ? 1 : 0], change, options);
    };
    EXPECT_EQ(fault([](std::string& text) { ASSERT_NE(text.find("multiply_by_tma<"), std::string::npos); }), "");
    EXPECT_NE(fault([](std::string& text) { Before(text, "#define __syncthreads() static_cast<void>(0)\n"); }), "");
    EXPECT_NE(fault([](std::string& text) {
                Before(text,
                       "namespace tcc { TCC_DEVICE void no_wait(uint64*, uint32) {} }\n"
                       "#define mbarrier_wait no_wait\n");
              }),
              "");
    EXPECT_EQ(fault([](std::string& text) { Replace(text, "static_cast<int>(k)", "static_cast<int>(k) + 1"); }),
              "wrong results");
    EXPECT_NE(fault([](std::string& text) { Before(text, "#define k128 k64\n"); }), "");
  }
  EXPECT_EQ(FaultOf(
                tests[1], [](std::string& text) { Replace(text, "kAlongRows = true", "kAlongRows = !true"); }, options),
            "wrong results");
}

// NVRTC, where there is one: no spills; the main loop has the instructions it is made for; as many blocks fit on a
// multiprocessor as the schedule planned.
class CudaGemmCode : public ::testing::TestWithParam<const char*> {};

struct Wanted {
  Case test;
  std::vector<const char*> in_loops;  // instructions of its main loop
  std::vector<const char*> anywhere = {};
  cuda::ScheduleOptions options = {};
  bool async = true;  // fed by cp.async
};

std::vector<Wanted> WantedCode(bool sm90a) {
  std::vector<Wanted> wanted;
  for (std::string element : {"f32", "f16", "bf16"}) {
    const bool f32 = element == "f32";
    const std::vector<const char*> multiply =
        f32 ? std::vector<const char*>{"FFMA", "LDS.128"} : std::vector<const char*>{"HMMA", "LDSM"};
    std::vector<const char*> wide = multiply;
    wide.push_back("LDGSTS.128");
    wanted.push_back({Plain("4096", "4096", "4096", element), wide, {"STG.128"}});
    if (element == "bf16") continue;  // as f16
    // Elements of 16 bits that are alone in memory pass through registers.
    wanted.push_back({Plain("100", "99", "99", element), multiply, {}, {}, f32});
    const ConvShape conv{8, 64, 64, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    wanted.push_back({ConvCase(conv, true, false, element), wide, {"STG.128"}});
    wanted.back().test.constants = {1};
    wanted.push_back({ConvCase(conv, false, false, element), multiply, {}, {}, f32});
    for (int width : {64, 128, 256})
      if (!f32 || width != 128)
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
                          wide,
                          {"STG.128"}});
  }
  wanted.push_back({Plain("4096", "4096", "4096", "f32"), {"HMMA", "LDGSTS.128"}, {"STG.128"}, {.tf32 = true}});
  const std::string a = Type({"512", "512"}, "i8"), wide = Type({"512", "512"}, "i32");
  wanted.push_back({{.text = Kernel({a, a},
                                    Widen("%ta", "%a0", "512") + Widen("%tb", "%a1", "512") +
                                        "    %c = tcc.matmul %ta, %tb : (" + wide + ", " + wide + ") -> " + wide + "\n",
                                    "%c", {wide})},
                    {"IMMA", "LDGSTS.128"},
                    {"STG.128"}});
  wanted.push_back({AttentionCase({.depth = 512, .width = 512}, false), {"FFMA"}, {}, {}, false});
  if (sm90a) {
    const std::string half = Type({"4096", "4096"}, "f16");
    wanted.push_back(
        {{.text = Kernel({half, half},
                         Read("%tb", {"4096", "4096"}, "%a1", "affine_map<(d0, d1) -> (d1, d0)>", half, "f16") +
                             "    %c = tcc.matmul %a0, %tb : (" + half + ", " + half + ") -> " + half + "\n",
                         "%c", {half})},
         {"HGMMA", "LDGSTS.128"},
         {"STG.128"},
         {.wgmma = true}});
    wanted.push_back(
        {{.text = Kernel({half, half},
                         Read("%tb", {"4096", "4096"}, "%a1", "affine_map<(d0, d1) -> (d1, d0)>", half, "f16") +
                             "    %c = tcc.matmul %a0, %tb : (" + half + ", " + half + ") -> " + half + "\n",
                         "%c", {half})},
         {"HGMMA", "UTMALDG"},
         {"STG.128", "USETMAXREG"},
         {.tma = true},
         false});
    wanted.push_back(
        {Plain("4096", "4096", "4096", "bf16"), {"HGMMA", "UTMALDG"}, {"STG.128", "USETMAXREG"}, {.tma = true}, false});
  }
  return wanted;
}

TEST_P(CudaGemmCode, HasTheInstructionsAndTheOccupancyThatArePlanned) {
  REQUIRE_NVRTC();
  setenv("TCC_CUDA_TOOLS", TCC_TEST_PYTHON_PREFIX, 0);
  KernelCompiler compiler{nvrtcOptions()};
  const std::string arch = GetParam();
  std::vector<Wanted> wanted = WantedCode(arch == "sm_90a");
  // Of architectures that have no instructions of their own here, a part.
  if (arch != "sm_80" && arch != "sm_90a") {
    std::vector<Wanted> part;
    for (size_t i = 0; i < wanted.size(); i += 4) part.push_back(std::move(wanted[i]));
    wanted = std::move(part);
  }
  std::vector<KernelSource> texts;
  std::vector<DeviceLaunch> launches;
  std::vector<int64_t> shared;
  for (const Wanted& want : wanted) {
    KernelCode code;
    std::vector<KernelSource> made = CudaTexts(want.test, arch, &code, want.options);
    ASSERT_FALSE(made.empty()) << want.test.text;
    texts.push_back(made.front());
    launches.push_back(*code.launches.front().device);
    // Its expressions are gone with the context.
    shared.push_back(0);
    size_t at = made.front().text.find("kBytes == ");
    if (at != std::string::npos) shared.back() = std::atoll(made.front().text.c_str() + at + strlen("kBytes == "));
  }
  auto binaries = compiler.compile(texts, arch);
  ASSERT_TRUE(static_cast<bool>(binaries)) << llvm::toString(binaries.takeError());
  bool disassembled = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& want = wanted[i];
    SCOPED_TRACE(texts[i].text);
    auto report = reportKernel((*binaries)[i], launches[i].block[0], shared[i]);
    ASSERT_TRUE(static_cast<bool>(report)) << llvm::toString(report.takeError());
    EXPECT_EQ(report->resources.spillStores, 0);
    EXPECT_EQ(report->resources.spillLoads, 0);
    const int planned = launches[i].blocksPerMultiprocessor;
    ASSERT_TRUE(report->occupancy.has_value());
    EXPECT_GE(report->occupancy->blocks, std::max(planned, 1)) << report->resources.registers << " registers";
    if (getenv("TCC_TEST_REPORT")) std::cerr << "planned " << planned << "\n" << formatReports(*report);
    disassembled &= report->sass.has_value();
    if (!report->sass) continue;
    for (const char* name : want.in_loops) EXPECT_GT(report->sass->countInLoops(name), 0) << name;
    for (const char* name : want.anywhere) EXPECT_GT(report->sass->count(name), 0) << name;
    EXPECT_EQ(report->sass->countInLoops("LDGSTS") > 0, want.async);
    EXPECT_EQ(report->sass->count("LDL") + report->sass->count("STL"), 0);
  }
  if (!disassembled) GTEST_SKIP() << "no nvdisasm: scripts/requirements.txt has the wheel";
}
INSTANTIATE_TEST_SUITE_P(Architectures, CudaGemmCode, ::testing::Values("sm_80", "sm_90a", "sm_100", "sm_120"));

}  // namespace
}  // namespace tcc::codegen::testing
