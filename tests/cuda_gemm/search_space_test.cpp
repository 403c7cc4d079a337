// What can be measured of kernels around a template op: enumerated, pruned, and right whatever wins.
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "codegen/cuda/gemm/SearchSpace.h"
#include "mlir/Parser/Parser.h"
#include "tests/codegen_gemm/attention_case.h"
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

std::string Matmul(const std::string& m, const std::string& n, const std::string& k, const std::string& element,
                   int symbols = 0) {
  const std::string a = Type({m, k}, element), b = Type({k, n}, element), y = Type({m, n}, element);
  return Kernel({a, b}, "    %c = tcc.matmul %a0, %a1 : (" + a + ", " + b + ") -> " + y + "\n", "%c", {y}, symbols);
}

std::string Attention(int queries, int keys, int depth, const std::string& element) {
  return AttentionCase({.queries = queries, .keys = keys, .depth = depth, .width = depth, .element = element}, false)
      .text;
}

ScheduleSpace SpaceOf(const std::string& text, const std::string& arch, std::vector<int64_t> symbols = {}) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  CudaBackend::loadDialects(&context);
  context.loadDialect<ir::TCCDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module) return {};
  ir::KernelOp kernel;
  module->walk([&](ir::KernelOp op) { kernel = op; });
  auto device = describeCuda(arch);
  EXPECT_TRUE(static_cast<bool>(device));
  return cuda::templateSpace(kernel, *device, symbols, {});
}

// Each candidate has a text of its own, the first one is the default.
void ExpectDifferent(const std::string& text, const std::string& arch, const ScheduleSpace& space) {
  std::set<std::string> texts;
  for (const ScheduleCandidate& candidate : space.candidates) {
    KernelCode code;
    const auto sources = CudaTexts({.text = text, .choice = candidate.parameters}, arch, &code);
    ASSERT_FALSE(sources.empty()) << candidate.text;
    std::string all;
    for (const KernelSource& source : sources) all += source.text;
    EXPECT_TRUE(texts.insert(all).second) << candidate.text << " is another one's text";
    if (candidate.parameters.empty())
      EXPECT_EQ(&candidate, &space.candidates.front());
    else if (candidate.text == "cuBLASLt")
      EXPECT_THAT(code.choices.front(), ::testing::HasSubstr("or cuBLASLt"));
    else
      EXPECT_EQ(code.choices.front(), candidate.text);
  }
}

TEST(SearchSpace, ProductsAreEnumeratedAndPruned) {
  for (const std::string arch : {"sm_80", "sm_90a", "sm_120", "sim"})
    for (const std::string element : {"f16", "f32", "f64"}) {
      SCOPED_TRACE(arch + " " + element);
      const std::string text = Matmul("128", "192", "256", element);
      const ScheduleSpace space = SpaceOf(text, arch);
      EXPECT_GE(space.candidates.size(), 5u);
      EXPECT_LE(space.candidates.size(), 22u);
      ExpectDifferent(text, arch, space);
    }
}

TEST(SearchSpace, WhatDoesNotFitIsLeftOut) {
  using ::testing::Contains;
  using ::testing::HasSubstr;
  // Few rows: tiles of many are empty for the most part.
  const ScheduleSpace few = SpaceOf(Matmul("8", "768", "1024", "f16"), "sm_90a");
  EXPECT_THAT(few.pruned, Contains(HasSubstr("would be empty for the most part")));
  for (const ScheduleCandidate& candidate : few.candidates)
    EXPECT_THAT(candidate.text, ::testing::Not(HasSubstr("128x128")));
  // 99 KiB are less than the largest tiles take.
  const ScheduleSpace small = SpaceOf(Matmul("512", "768", "1024", "f16"), "sm_120");
  EXPECT_THAT(small.pruned, Contains(HasSubstr("of shared memory, of ")));
}

// k is divided where all extents are known, or have bounds that say as much, not where one is an open symbol; what the
// symbol is decides about the rest.
TEST(SearchSpace, OpenExtents) {
  using ::testing::HasSubstr;
  auto divided = [](const ScheduleSpace& space) {
    return llvm::count_if(space.candidates,
                          [](const ScheduleCandidate& c) { return c.text.find("parts") != std::string::npos; });
  };
  EXPECT_GT(divided(SpaceOf(Matmul("64", "64", "4096", "f16"), "sm_90a")), 0);
  const ScheduleSpace open = SpaceOf(Matmul("s0", "64", "4096", "f16", 1), "sm_90a", {4});
  EXPECT_EQ(divided(open), 0);
  EXPECT_GE(open.candidates.size(), 2u);
  EXPECT_THAT(open.pruned, ::testing::Contains(HasSubstr("would be empty for the most part")));
}

TEST(SearchSpace, Attention) {
  for (const std::string element : {"f16", "f32"}) {
    const std::string text = Attention(128, 128, 64, element);
    const ScheduleSpace space = SpaceOf(text, "sm_90a");
    EXPECT_GE(space.candidates.size(), 5u);
    ExpectDifferent(text, "sm_90a", space);
  }
  EXPECT_FALSE(SpaceOf(Attention(128, 128, 256, "f32"), "sm_90a").pruned.empty());
}

// Numbers that no table has, as from a damaged file, change nothing.
TEST(SearchSpace, OnlyChoicesOfTheTables) {
  const std::string text = Matmul("512", "768", "1024", "f16");
  const std::string usual = CudaTexts({.text = text}, "sm_90a").front().text;
  const auto with = [&](std::vector<int64_t> choice) {
    return CudaTexts({.text = text, .choice = std::move(choice)}, "sm_90a").front().text;
  };
  const std::vector<int64_t> valid = SpaceOf(text, "sm_90a").candidates.back().parameters;
  EXPECT_NE(with(valid), usual);
  std::vector<int64_t> wide = valid, other_kind = valid, longer = valid;
  wide[2] = 7;
  other_kind[0] = 2;
  longer.push_back(1);
  for (const std::vector<int64_t>& damaged : {wide, other_kind, longer, std::vector<int64_t>{1}}) {
    EXPECT_EQ(with(damaged), usual);
  }
}

// A sample of the candidates on the simulated device; all of them with $TCC_TEST_ALL.
TEST(SearchSpace, CandidatesAreRight) {
  const size_t stride = std::getenv("TCC_TEST_ALL") != nullptr ? 1 : 9;
  size_t count = 0;
  auto check = [&](const std::string& text) {
    for (const ScheduleCandidate& candidate : SpaceOf(text, "sim").candidates) {
      if (candidate.parameters.empty() || count++ % stride != 0) continue;
      SCOPED_TRACE(candidate.text);
      CheckCuda({.text = text, .tolerance = 2e-3, .choice = candidate.parameters});
    }
  };
  check(Matmul("130", "133", "261", "f16"));
  // Operands that lie along k, in lines of whole copies: all ways to feed wgmma, none left out.
  const std::string b = Type({"200", "264"}, "f16"), in_b = Type({"264", "200"}, "f16"),
                    a = Type({"136", "200"}, "f16"), y = Type({"136", "264"}, "f16");
  const std::string along = Kernel({a, in_b},
                                   Read("%b", {"200", "264"}, "%a1", "affine_map<(d0, d1) -> (d1, d0)>", in_b, "f16") +
                                       "    %c = tcc.matmul %a0, %b : (" + a + ", " + b + ") -> " + y + "\n",
                                   "%c", {y});
  const cuda::GemmElements elements{
      .engine = cuda::GemmEngine::Mma, .bytes = 2, .sumBytes = 4, .wgmma = true, .tma = true};
  for (const cuda::GemmTiles& tiles : cuda::tilesFor(elements)) {
    if (tiles.engine == cuda::GemmEngine::Mma) continue;
    SCOPED_TRACE(tiles.text());
    const Case test{.text = along, .tolerance = 2e-3, .choice = cuda::parametersOf({tiles, 1, 1})};
    ASSERT_NE(CudaTexts(test, "sim").front().text.find(tiles.text()), std::string::npos);
    CheckCuda(test);
  }
  check(Matmul("67", "132", "260", "f32"));
  check(Matmul("35", "66", "130", "f64"));
  check(Attention(37, 133, 24, "f16"));
  check(Attention(37, 133, 24, "f32"));
}

}  // namespace
}  // namespace tcc::codegen::testing
