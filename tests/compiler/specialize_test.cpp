// Which extents become symbols, and when.
#include "compiler/specialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tcc {
namespace {

using ::testing::HasSubstr;

DeclaredInput Input(const std::string& name, std::vector<DeclaredInput::Dim> dims, bool optional = false) {
  return {name, DType::kF32, true, std::move(dims), optional};
}
TensorType F32(Dims dims) { return {DType::kF32, std::move(dims)}; }

// "b,3;b,5" with the symbols' names.
std::string Text(const Signature& signature) {
  std::string text;
  for (const InputSpec& input : signature.inputs) {
    if (!text.empty()) text += ";";
    if (input.absent) text += "-";
    for (size_t i = 0; i < input.dims.size(); ++i) {
      const Extent& extent = input.dims[i];
      text += (i > 0 ? "," : "") + (extent.symbol < 0 ? std::to_string(extent.value)
                                                      : signature.symbols[static_cast<size_t>(extent.symbol)].name);
    }
  }
  return text;
}
std::string Call(ShapePolicy& policy, CallTypes types) {
  const absl::Status status = policy.CheckCall(&types);
  if (!status.ok()) return std::string(status.message());
  policy.Observe(types);
  const absl::StatusOr<Signature> signature = policy.Specialize(types);
  return signature.ok() ? Text(*signature) : std::string(signature.status().message());
}

TEST(Specialize, StaticFirstThenDynamic) {
  ShapePolicy policy({Input("x", {{-1, ""}, {3, ""}})}, {});
  EXPECT_EQ(Call(policy, {F32({4, 3})}), "4,3");
  EXPECT_EQ(Call(policy, {F32({4, 3})}), "4,3");
  EXPECT_EQ(Call(policy, {F32({5, 3})}), "s0,3");
  EXPECT_EQ(Call(policy, {F32({1, 3})}), "1,3");  // 0 and 1 stay special
  EXPECT_EQ(Call(policy, {F32({0, 3})}), "0,3");
  CallNotes notes;
  policy.AddTo(&notes);
  EXPECT_EQ(notes.dynamic, (CallNotes::Axes{{"x", {0}}}));
  EXPECT_EQ(notes.seen, (std::map<std::string, std::vector<Dims>>{{"x", {{4, 3}}}}));
}

TEST(Specialize, RememberedExtentsAreSymbolsAtOnce) {
  ShapePolicy policy({Input("x", {{-1, "batch"}, {-1, ""}})}, {});
  CallNotes notes;
  notes.dynamic = {{"x", {0}}, {"gone", {3}}};
  policy.Recall(notes);
  EXPECT_EQ(Call(policy, {F32({4, 3})}), "batch,3");
}

TEST(Specialize, CallsOfOtherProcessesCount) {
  ShapePolicy first({Input("x", {{-1, ""}, {-1, ""}})}, {}), second = first, third = first;
  CallNotes notes;
  EXPECT_EQ(Call(first, {F32({4, 3})}), "4,3");
  first.AddTo(&notes);
  second.Recall(notes);
  EXPECT_EQ(Call(second, {F32({5, 3})}), "s0,3");
  second.AddTo(&notes);
  third.Recall(notes);
  EXPECT_EQ(Call(third, {F32({6, 3})}), "s0,3");
  third.AddTo(&notes);
  EXPECT_EQ(notes.dynamic, (CallNotes::Axes{{"x", {0}}}));
  EXPECT_EQ(notes.seen, (std::map<std::string, std::vector<Dims>>{{"x", {{4, 3}}}}));
}

// Which of the specialisations that exist do for a user who marked extents.
TEST(Specialize, MarksDecideWhichSpecialisationsWillDo) {
  const auto will_do = [](std::vector<DimSpec> marks, std::vector<Extent> dims, std::vector<Symbol> symbols = {}) {
    Signature signature;
    signature.symbols = std::move(symbols);
    InputSpec& input = signature.inputs.emplace_back();
    input.name = "x";
    input.dtype = DType::kF32;
    input.dims = std::move(dims);
    return ShapePolicy({Input("x", {{-1, ""}, {-1, ""}})}, {{"x", std::move(marks)}}).IsAsMarked(signature);
  };
  const DimSpec any, two{DimSpec::Kind::kStatic, 2, "", 0, kMaxExtent, 1},
      range{DimSpec::Kind::kDynamic, 0, "n", 4, 8, 1}, even{DimSpec::Kind::kDynamic, 0, "m", 2, kMaxExtent, 2},
      single{DimSpec::Kind::kDynamic, 0, "k", 2, 2, 1};
  const Extent c2 = Extent::Constant(2), c3 = Extent::Constant(3), s0 = Extent::Of(0), s1 = Extent::Of(1);
  const Symbol from2{"a", 2, kMaxExtent, 1}, small{"a", 4, 7, 1}, odd{"a", 2, kMaxExtent, 3};
  EXPECT_TRUE(will_do({any, any}, {c2, c3}));
  EXPECT_TRUE(will_do({two, any}, {c2, c3}));
  EXPECT_FALSE(will_do({two, any}, {c3, c3}));
  EXPECT_FALSE(will_do({two, any}, {s0, c3}, {from2}));
  EXPECT_TRUE(will_do({single, any}, {c2, c3}));
  EXPECT_TRUE(will_do({range, any}, {s0, c3}, {from2}));
  EXPECT_FALSE(will_do({range, any}, {c2, c3}));
  EXPECT_FALSE(will_do({range, any}, {s0, c3}, {small}));
  EXPECT_FALSE(will_do({even, any}, {s0, c3}, {odd}));
  EXPECT_FALSE(will_do({range, even}, {s0, s0}, {from2}));
  EXPECT_TRUE(will_do({range, even}, {s0, s1}, {from2, from2}));
  EXPECT_TRUE(will_do({range, range}, {s0, s0}, {from2}));
}

TEST(Specialize, EqualExtentsShareASymbolUntilTheyDiffer) {
  ShapePolicy policy({Input("x", {{-1, ""}}), Input("y", {{-1, ""}})}, {});
  EXPECT_EQ(Call(policy, {F32({4}), F32({4})}), "4;4");
  EXPECT_EQ(Call(policy, {F32({5}), F32({5})}), "s0;s0");
  EXPECT_EQ(Call(policy, {F32({6}), F32({7})}), "s0;s1");
}

TEST(Specialize, EqualNowButNotBeforeIsNoReasonToShare) {
  ShapePolicy policy({Input("x", {{-1, ""}}), Input("y", {{-1, ""}})}, {});
  EXPECT_EQ(Call(policy, {F32({4}), F32({8})}), "4;8");
  EXPECT_EQ(Call(policy, {F32({5}), F32({5})}), "s0;s1");
}

TEST(Specialize, NamesOfTheModelShare) {
  ShapePolicy policy({Input("x", {{-1, "n"}}), Input("y", {{-1, "n"}})}, {});
  CallNotes notes;
  notes.dynamic = {{"x", {0}}, {"y", {0}}};
  policy.Recall(notes);
  EXPECT_EQ(Call(policy, {F32({5}), F32({5})}), "n;n");
  EXPECT_EQ(Call(policy, {F32({5}), F32({6})}), "n;s1");  // the model is wrong about it; its own checks decide
}

TEST(Specialize, UserDescriptions) {
  DimSpec batch;
  batch.kind = DimSpec::Kind::kDynamic;
  batch.name = "b";
  batch.min = 1;
  batch.max = 8;
  DimSpec three;
  three.kind = DimSpec::Kind::kStatic;
  three.value = 3;
  ShapePolicy policy({Input("x", {{-1, ""}, {-1, ""}}), Input("y", {{-1, ""}})},
                     {{"x", {batch, three}}, {"y", {batch}}});
  ASSERT_TRUE(policy.Validate().ok());
  EXPECT_EQ(Call(policy, {F32({1, 3}), F32({1})}), "b,3;b");
  EXPECT_THAT(Call(policy, {F32({9, 3}), F32({1})}), HasSubstr("axis 0 was declared to be from 1 to 8"));
  EXPECT_THAT(Call(policy, {F32({2, 4}), F32({1})}), HasSubstr("axis 1 was declared to be 3"));
}

TEST(Specialize, DescriptionsThatDoNotFitTheModel) {
  DimSpec dynamic;
  dynamic.kind = DimSpec::Kind::kDynamic;
  auto error = [&](std::vector<DynamicSpec> user) {
    return std::string(ShapePolicy({Input("x", {{7, ""}})}, std::move(user)).Validate().message());
  };
  EXPECT_THAT(error({{"z", {dynamic}}}), HasSubstr("no input 'z'; it has x"));
  EXPECT_THAT(error({{"x", {dynamic, dynamic}}}), HasSubstr("has 1 axes, but 2 are described"));
  EXPECT_THAT(error({{"x", {dynamic}}}), HasSubstr("cannot be dynamic, the model fixes it at 7"));
}

TEST(Specialize, CallsThatDoNotFitTheModel) {
  ShapePolicy policy({Input("x", {{2, ""}}), Input("bias", {{-1, ""}}, /*optional=*/true)}, {});
  EXPECT_EQ(Call(policy, {F32({2})}), "2;-");
  EXPECT_THAT(Call(policy, {F32({3})}), HasSubstr("the model fixes axis 0 at 2"));
  EXPECT_THAT(Call(policy, {F32({2, 1})}), HasSubstr("the model takes 1 axes"));
  EXPECT_THAT(Call(policy, {{DType::kF64, {2}}}), HasSubstr("but the model takes f32"));
  EXPECT_THAT(Call(policy, {}), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(Call(policy, {F32({2}), F32({2}), F32({2})}), HasSubstr("got 3 inputs"));
}

TEST(Specialize, AllMissingInputsAreNamed) {
  ShapePolicy policy({Input("x", {{2, ""}}), Input("bias", {{2, ""}}, /*optional=*/true), Input("y", {{2, ""}})}, {});
  EXPECT_EQ(Call(policy, {}), "input 'x', input 'y' are missing");
}

TEST(Specialize, GeneralForm) {
  ShapePolicy policy({Input("x", {{-1, "n"}, {3, ""}}), Input("y", {{-1, "n"}})}, {});
  CallTypes types = {F32({4, 3}), F32({4})};
  policy.Observe(types);
  const Signature signature = *policy.Specialize(types, /*general=*/true);
  EXPECT_EQ(Text(signature), "n,3;s1");
  EXPECT_EQ(signature.symbols[0].min, 0);
}

}  // namespace
}  // namespace tcc
