// What people type, read and refused.
#include "compiler/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tcc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Options, Modes) {
  EXPECT_EQ(*ParseMode("max-autotune-no-cudagraphs"), Mode::kMaxAutotuneNoCudagraphs);
  EXPECT_THAT(
      std::string(ParseMode("fast").status().message()),
      HasSubstr("unknown mode 'fast'; there are default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs"));
}

TEST(Options, Targets) {
  EXPECT_EQ(ParseTarget("cpu")->kind, TargetSpec::Kind::kCpu);
  EXPECT_EQ(ParseTarget("cpu:x86-64-v3")->name, "x86-64-v3");
  EXPECT_EQ(ParseTarget("cuda:sm_90a")->kind, TargetSpec::Kind::kCuda);
  EXPECT_EQ(ParseTarget("cuda-sim")->kind, TargetSpec::Kind::kCudaSim);
  EXPECT_THAT(ParseTarget("cuda:sm_90a,sm_80,sm_90a")->archs, ElementsAre("sm_90a", "sm_80"));
  EXPECT_THAT(ParseTarget("cuda:sm_80,compute_121")->archs, ElementsAre("sm_80", "compute_121"));
  EXPECT_THAT(ParseTarget("cuda")->archs, IsEmpty());
  EXPECT_THAT(std::string(ParseTarget("cuda:sm_91").status().message()),
              AllOf(HasSubstr("unknown architecture 'sm_91'"), HasSubstr("sm_80, "), HasSubstr("sm_90a")));
  EXPECT_THAT(std::string(ValidateOptions({.target = "gpu"}).message()), HasSubstr("there are cpu, cpu:NAME, cuda, "));
  EXPECT_TRUE(ValidateOptions({.target = "cuda"}).ok());
  EXPECT_TRUE(ValidateForPackage("m.tcc", {.mode = Mode::kReduceOverhead}).ok());
  EXPECT_EQ(ValidateForPackage("m.tcc", {.precision = Precision::kBF16}).code(), absl::StatusCode::kInvalidArgument);
  for (const char* bad : {"", "gpu", "cpu:", "cuda:", "cuda-sim:1", "cpux", "cuda:90", "cuda:sm_80,",
                          "cuda:sm_80;sm_90", "cuda:compute_", "cuda:compute_90a", "cuda:compute_91"})
    EXPECT_FALSE(ParseTarget(bad).ok()) << bad;
}

TEST(Options, InputDescriptions) {
  InputDescription description = *ParseInputDescription("f32[1,3,224,224]");
  EXPECT_EQ(description.dtype, DType::kF32);
  ASSERT_EQ(description.dims.size(), 4u);
  EXPECT_EQ(description.dims[3].kind, DimSpec::Kind::kStatic);
  EXPECT_EQ(description.dims[3].value, 224);

  description = *ParseInputDescription("[batch:1..64, 3, h%32, ?, _, n:5..]");
  EXPECT_EQ(description.dtype, DType::kInvalid);
  ASSERT_EQ(description.dims.size(), 6u);
  EXPECT_EQ(description.dims[0].name, "batch");
  EXPECT_EQ(description.dims[0].min, 1);
  EXPECT_EQ(description.dims[0].max, 64);
  EXPECT_EQ(description.dims[2].multiple_of, 32);
  EXPECT_EQ(description.dims[3].kind, DimSpec::Kind::kDynamic);
  EXPECT_EQ(description.dims[3].name, "");
  EXPECT_EQ(description.dims[4].kind, DimSpec::Kind::kAutomatic);
  EXPECT_EQ(description.dims[5].min, 5);
  EXPECT_TRUE(ParseInputDescription("i64[]")->dims.empty());

  for (const char* bad : {"", "f32", "f32[", "f33[1]", "f32[1", "f32[1,]", "f32[-1]", "f32[n:5]", "f32[n:6..5]",
                          "f32[n%0]", "f32[1x]", "f32[99999999999999999999]"}) {
    EXPECT_FALSE(ParseInputDescription(bad).ok()) << bad;
  }
}

TEST(Options, NamesMayHoldOddCharacters) {
  EXPECT_EQ(SplitNamed("x=f32[1]")->first, "x");
  EXPECT_EQ(SplitNamed("a=b=f32[1]")->first, "a=b");
  EXPECT_EQ(SplitNamed("in:0=data.npy")->second, "data.npy");
  EXPECT_FALSE(SplitNamed("data.npy").ok());
  EXPECT_FALSE(SplitNamed("=data.npy").ok());
}

TEST(Options, JsonRoundTrip) {
  Options options;
  options.mode = Mode::kMaxAutotune;
  options.target = "cpu:x86-64-v3";
  options.numerics = Numerics::kStrict;
  options.precision = Precision::kBF16;
  options.fullgraph = true;
  options.external_data_roots = {"/data"};
  options.dynamic = {{"x", ParseInputDescription("[b:1..64,3,_]")->dims}};
  Options back = *OptionsFromJson(OptionsToJson(options));
  EXPECT_EQ(back.mode, options.mode);
  EXPECT_EQ(back.target, options.target);
  EXPECT_EQ(back.numerics, options.numerics);
  EXPECT_EQ(back.precision, options.precision);
  EXPECT_EQ(back.fullgraph, options.fullgraph);
  EXPECT_EQ(back.dynamic, options.dynamic);
  EXPECT_EQ(back.external_data_roots, options.external_data_roots);
  EXPECT_FALSE(OptionsFromJson(nlohmann::json::object()).ok());
  EXPECT_FALSE(OptionsFromJson({{"mode", 3}}).ok());
}

TEST(Options, KeyFollowsWhatChangesTheCode) {
  Options options;
  const std::string key = OptionsKey(options);
  options.recompile_limit = 3;
  EXPECT_EQ(OptionsKey(options), key);
  options.numerics = Numerics::kStrict;
  EXPECT_NE(OptionsKey(options), key);
}

}  // namespace
}  // namespace tcc
