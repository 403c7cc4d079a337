// Recorded plans: what is left to do in a replay, and what makes a recording invalid.
#include "tests/runtime/executor_test_util.h"

namespace tcc {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kRecordings = 3;

// AddScale with a check of the inputs' extents, and a view of the sum.
Plan CheckedAddScale() {
  Plan plan = AddScale();
  plan.num_values = 5;
  plan.num_registers = 3;
  auto& code = plan.body.instructions;
  std::get<plan::Launch>(code.back()).buffers = {4, 3};
  code.insert(code.end() - 2, plan::View{4, 2, {Operand::Reg(2)}, {}, {}});
  code.insert(code.begin(), {plan::ReadExtent{2, 0, 0}, plan::CheckEqual{Operand::Reg(2), Operand::Reg(0), "n"}});
  code.push_back(plan::Release{2});
  return plan;
}

absl::StatusOr<std::vector<Tensor>> RunWith(ExecutionContext& context, std::vector<Tensor> inputs, int64_t n) {
  return context.Run(inputs, {n});
}

std::vector<float> Scaled(ExecutionContext& context, int64_t n, float value) {
  const Tensor x = F32(std::vector<float>(static_cast<size_t>(n), value));
  const auto outputs = RunWith(context, {x, x}, n);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? Floats((*outputs)[0]) : std::vector<float>();
}

std::vector<std::string> Kinds(ExecutionContext& context, absl::Span<const Tensor> inputs,
                               absl::Span<const int64_t> symbols) {
  std::vector<std::string> kinds;
  const ProfileHook hook = [&](const ProfileEvent& event) { kinds.emplace_back(event.kind); };
  RunOptions options;
  options.profile = &hook;
  std::vector<Tensor> outputs;
  EXPECT_TRUE(context.Run(inputs, symbols, options, &outputs).ok());
  return kinds;
}

TEST(Recording, OnlyLaunchesAndWhatIsTheCallersIsLeft) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  const Tensor x = F32({1, 2});
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Kinds(context, {x, x}, {2}), ElementsAre("launch", "allocate", "launch"));
  }
  EXPECT_EQ(context.statistics().recorded, 1);
  EXPECT_EQ(context.statistics().replayed, 2);
}

TEST(Recording, FollowsTheCallersMemory) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  std::vector<Tensor> results;
  for (int call = 0; call < 5; ++call) {
    const auto v = static_cast<float>(call);
    results.push_back((*RunWith(context, {F32({v, 1}), F32({2, v})}, 2))[0]);
  }
  // Each of its own memory, which later calls left alone.
  for (int call = 0; call < 5; ++call) {
    const auto v = static_cast<float>(call);
    EXPECT_THAT(Floats(results[static_cast<size_t>(call)]), ElementsAre(3 * (v + 2), 3 * (1 + v)));
  }
}

TEST(Recording, ExtentsThatComeBackAreReplayed) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  for (int round = 0; round < 4; ++round) {
    for (const int64_t n : {300, 5, 2}) {
      const auto v = static_cast<float>(round);
      EXPECT_THAT(Scaled(context, n, v), Each(6 * v));
    }
  }
  EXPECT_EQ(context.statistics().recorded, 3);
  EXPECT_EQ(context.statistics().replayed, 9);
}

TEST(Recording, ASlotThatGrowsMakesOthersAnew) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  EXPECT_THAT(Scaled(context, 2, 1), Each(6));
  EXPECT_THAT(Scaled(context, 5000, 2), Each(12));  // the slot of the first moves
  EXPECT_THAT(Scaled(context, 2, 3), Each(18));
  EXPECT_EQ(context.statistics().recorded, 3);
  EXPECT_EQ(context.statistics().replayed, 0);
  EXPECT_THAT(Scaled(context, 5000, 4), Each(24));
  EXPECT_THAT(Scaled(context, 2, 5), Each(30));
  EXPECT_EQ(context.statistics().replayed, 2);
}

TEST(Recording, MoreExtentsThanAreKept) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  for (int round = 0; round < 3; ++round) {
    for (int64_t n = 9; n > 1; --n) EXPECT_THAT(Scaled(context, n, static_cast<float>(n)), Each(6 * n));
  }
  EXPECT_EQ(context.statistics().replayed, 0);
}

TEST(Recording, IsRareWhereExtentsNeverComeBack) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  for (int64_t n = 200; n > 1; --n) EXPECT_THAT(Scaled(context, n, 1), Each(6));
  const int64_t recorded = context.statistics().recorded;
  EXPECT_LT(recorded, 100);
  for (int64_t n = 400; n > 300; --n) EXPECT_THAT(Scaled(context, n, 1), Each(6));
  EXPECT_LT(context.statistics().recorded, recorded + 10);
}

// After any number of other extents, those that come back are recorded.
TEST(Recording, BeginsAgainWhereExtentsComeBack) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  for (int64_t n = 600; n > 1; --n) EXPECT_THAT(Scaled(context, n, 1), Each(6));
  for (int call = 0; call < 50; ++call) EXPECT_THAT(Scaled(context, 7, 2), Each(12));
  const int64_t replayed = context.statistics().replayed;
  EXPECT_THAT(Scaled(context, 7, 3), Each(18));
  EXPECT_EQ(context.statistics().replayed, replayed + 1);
}

// More extents than are kept, in turn: they do not push each other out for ever.
TEST(Recording, MostOfManyAlternatingExtentsAreReplayed) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t n = kRecordings + 2; n > 1; --n) EXPECT_THAT(Scaled(context, n, 1), Each(6));
  }
  EXPECT_GT(context.statistics().replayed, kRounds * (kRecordings + 1) / 2);
}

TEST(Recording, StridedInputsAreInterpreted) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  const Tensor a = F32({0, 1, 2, 3, 4, 5});
  for (int call = 0; call < 2; ++call) {
    EXPECT_THAT(Floats((*RunWith(context, {a.View({3}, {-2}, 5), a.View({3}, {0}, 1)}, 3))[0]), ElementsAre(18, 12, 6));
    EXPECT_THAT(Scaled(context, 3, 1), Each(6));
  }
  EXPECT_EQ(context.statistics().recorded, 1);
}

TEST(Recording, AFailedCheckIsAnErrorEachTime) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  const Tensor x = F32({1, 2});
  for (int call = 0; call < 2; ++call) {
    EXPECT_THAT(std::string(RunWith(context, {x, x}, 3).status().message()), HasSubstr("n (2 against 3)"));
    EXPECT_THAT(Scaled(context, 2, 1), Each(6));
  }
}

TEST(Recording, WrongNumbersOfInputsAreErrors) {
  ExecutionContext context(*Prepare(CheckedAddScale()), nullptr, kRecordings);
  EXPECT_FALSE(context.Run({F32({1})}, {1}).ok());
  EXPECT_FALSE(context.Run({F32({1}), F32({1})}).ok());
  EXPECT_THAT(Scaled(context, 2, 1), Each(6));
}

// A tensor made of extents belongs to the recording: as an output it is copied.
TEST(Recording, MadeTensorsAreNotGivenAway) {
  Plan plan;
  plan.num_values = 1;
  plan.num_registers = 1;
  plan.symbol_registers = {0};
  plan.outputs = {0};
  plan.body.instructions = {plan::MakeTensor{0, DType::kI64, {1}, {Operand::Reg(0)}}};
  ExecutionContext context(*Prepare(plan), nullptr, kRecordings);
  for (int call = 0; call < 3; ++call) {
    const auto outputs = *context.Run({}, {7});
    EXPECT_EQ(*outputs[0].data_as<int64_t>(), 7);
    *outputs[0].data_as<int64_t>() = 99;
  }
}

// What is not known before a kernel has run stays in the plan: an extent, and all that follows from it.
TEST(Recording, ExtentsThatDependOnDataAreReadEachTime) {
  Plan plan;
  plan.num_values = 3;
  plan.num_registers = 2;
  plan.inputs = {0};
  plan.outputs = {2};
  plan.slot_bytes = {Operand::Reg(1)};
  plan.functions = {"add"};
  plan.body.instructions = {
      plan::ReadElement{0, 0, 0},
      plan::Library{"fill", {}, {{"shape", {Operand::Reg(0)}}}, {}, {{1, DType::kF32, {Operand::Imm(-1)}}}, ""},
      plan::ReadExtent{1, 1, 0}, plan::Allocate{2, DType::kF32, {Operand::Reg(1)}},
      plan::Launch{0, {1, 1, 2}, {}, Operand::Reg(1), 1, {}, ""}};
  ExecutionContext context(*Prepare(plan), nullptr, kRecordings);
  for (const int64_t n : {2, 5, 0, 3}) {
    const auto outputs = context.Run({Tensor::Vector<int64_t>({n})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Floats((*outputs)[0]), std::vector<float>(static_cast<size_t>(n), 14));
  }
  EXPECT_EQ(context.statistics().replayed, 3);
}

// A branch is recorded when it is first taken: the other one's check would fail.
TEST(Recording, BranchesNotTakenAreNotAsked) {
  const Plan plan = DoubleIf(Block{{plan::CheckEqual{Operand::Imm(1), Operand::Imm(2), "never"}, plan::Move{3, 1}}});
  ExecutionContext context(*Prepare(plan), nullptr, kRecordings);
  const Tensor x = F32({1, 2}), yes = Tensor::Scalar<bool>(true), no = Tensor::Scalar<bool>(false);
  EXPECT_THAT(Floats((*context.Run({yes, x}))[0]), ElementsAre(2, 4));
  EXPECT_THAT(std::string(context.Run({no, x}).status().message()), HasSubstr("never"));
  EXPECT_THAT(Floats((*context.Run({yes, x}))[0]), ElementsAre(2, 4));
  EXPECT_THAT(Kinds(context, {yes, x}, {}), ElementsAre("launch", "move", "if"));
}

}  // namespace
}  // namespace tcc
