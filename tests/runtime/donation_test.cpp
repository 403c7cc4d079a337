// Inputs whose memory the caller gives away.
#include "tests/runtime/executor_test_util.h"

namespace tcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// out = (a + b) * 3; a and b are not read any more when the output is made. `early`: it is made first.
Plan AddScaleOfThree(bool early = false) {
  Plan plan;
  plan.num_values = 4;
  plan.inputs = {0, 1};
  plan.outputs = {3};
  plan.slot_bytes = {Operand::Imm(64)};
  plan.functions = {"add", "scale"};
  const plan::Allocate out = {3, DType::kF32, {Operand::Imm(3)}};
  if (early) plan.body.instructions.push_back(out);
  plan.body.instructions.push_back(plan::Allocate{2, DType::kF32, {Operand::Imm(3)}, 0, 0});
  plan.body.instructions.push_back(plan::Launch{0, {0, 1, 2}, {}, Operand::Imm(3), 1, {}, "add"});
  if (!early) plan.body.instructions.push_back(out);
  plan.body.instructions.push_back(
      plan::Launch{1, {2, 3}, {Operand::Imm(3)}, Operand::Imm(3), 1, Operand::Imm(8), "scale"});
  return plan;
}

struct Call {
  absl::Status status;
  std::vector<Tensor> outputs;
};
Call RunWith(ExecutionContext& context, std::vector<Tensor> inputs, std::vector<int> donated,
             std::vector<Tensor> outputs = {}) {
  RunOptions options;
  options.donated = donated;
  options.outputs = outputs;
  Call call;
  call.status = context.Run(inputs, {}, options, &call.outputs);
  return call;
}

TEST(Donation, AnOutputTakesTheMemory) {
  TestContext context(*Prepare(AddScaleOfThree()));
  for (int round = 0; round < 3; ++round) {
    const Tensor a = F32({1, 2, 3}), b = F32({1, 1, 1});
    const Call call = RunWith(context, {a, b}, {0});
    ASSERT_TRUE(call.status.ok()) << call.status;
    EXPECT_EQ(call.outputs[0].data(), a.data());
    EXPECT_THAT(Floats(call.outputs[0]), ElementsAre(6, 9, 12));
    EXPECT_EQ(RunWith(context, {a, b}, {1}).outputs[0].data(), b.data());
    // Not asked for, not done.
    const Call other = RunWith(context, {F32({1, 2, 3}), F32({1, 1, 1})}, {});
    EXPECT_NE(other.outputs[0].data(), a.data());
    EXPECT_THAT(Floats(other.outputs[0]), ElementsAre(6, 9, 12));
  }
}

TEST(Donation, OnlyMemoryThatIsFree) {
  TestContext context(*Prepare(AddScaleOfThree(/*early=*/true)));
  const Tensor a = F32({1, 2, 3});
  const Call early = RunWith(context, {a, a}, {0});
  EXPECT_NE(early.outputs[0].data(), a.data());
  EXPECT_THAT(Floats(early.outputs[0]), ElementsAre(6, 12, 18));
  // Shared with another input, which was not given away.
  TestContext late(*Prepare(AddScaleOfThree()));
  const Call shared = RunWith(late, {a, a}, {0});
  EXPECT_NE(shared.outputs[0].data(), a.data());
  EXPECT_THAT(Floats(a), ElementsAre(1, 2, 3));
  // With gaps.
  const Tensor wide = F32({1, 0, 2, 0, 3, 0});
  EXPECT_THAT(Floats(RunWith(late, {wide.View({3}, {2}, 0), a}, {0}).outputs[0]), ElementsAre(6, 12, 18));
}

TEST(Donation, AViewOfAnInputKeepsIt) {
  Plan plan = AddScaleOfThree();
  // out2 = a view of a.
  plan.num_values = 5;
  plan.outputs = {3, 4};
  plan.body.instructions.push_back(plan::View{4, 0, {Operand::Imm(2)}, {}, Operand::Imm(1)});
  TestContext context(*Prepare(plan));
  const Tensor a = F32({1, 2, 3}), b = F32({1, 1, 1});
  const Call call = RunWith(context, {a, b}, {0});
  EXPECT_THAT(Floats(call.outputs[0]), ElementsAre(6, 9, 12));
  EXPECT_THAT(Floats(call.outputs[1]), ElementsAre(2, 3));
}

// State that is updated in its place.
TEST(Donation, OutputsOverInputs) {
  TestContext context(*Prepare(AddScaleOfThree()));
  for (const bool donate : {false, true}) {
    const Tensor state = F32({1, 2, 3}), b = F32({1, 1, 1});
    const Call call = RunWith(context, {state, b}, donate ? std::vector<int>{0} : std::vector<int>{}, {state});
    ASSERT_TRUE(call.status.ok()) << call.status;
    EXPECT_EQ(call.outputs[0].data(), state.data());
    EXPECT_THAT(Floats(state), ElementsAre(6, 9, 12));
  }
  // Where the input is still read the call computes elsewhere.
  TestContext early(*Prepare(AddScaleOfThree(/*early=*/true)));
  const Tensor state = F32({1, 2, 3});
  ASSERT_TRUE(RunWith(early, {state, state}, {0, 1}, {state}).status.ok());
  EXPECT_THAT(Floats(state), ElementsAre(6, 12, 18));
}

// out = (a + b) * 3 over a, which `add` reads at the elements that it writes.
Plan AddOver() {
  Plan plan;
  plan.num_values = 4;
  plan.inputs = {0, 1};
  plan.outputs = {3};
  plan.functions = {"add", "scale"};
  plan::Allocate out{3, DType::kF32, {Operand::Imm(3)}};
  out.over = 0;
  plan.body.instructions.push_back(out);
  plan.body.instructions.push_back(plan::Launch{0, {0, 1, 3}, {}, Operand::Imm(3), 1, {}, "add"});
  return plan;
}

TEST(Donation, AnOutputOverTheInputThatItIsMadeOf) {
  TestContext context(*Prepare(AddOver()));
  for (int round = 0; round < 3; ++round) {
    Tensor a = F32({1, 2, 3}), b = F32({1, 1, 4});
    EXPECT_EQ(RunWith(context, {a, b}, {0}).outputs[0].data(), a.data());
    EXPECT_THAT(Floats(a), ElementsAre(2, 3, 7));
    // Only over that one, and only where it is given away.
    EXPECT_NE(RunWith(context, {a, b}, {1}).outputs[0].data(), b.data());
    EXPECT_NE(RunWith(context, {a, b}, {}).outputs[0].data(), a.data());
    EXPECT_THAT(Floats(a), ElementsAre(2, 3, 7));
    const Call state = RunWith(context, {a, b}, {0}, {a});
    EXPECT_EQ(state.outputs[0].data(), a.data());
    EXPECT_THAT(Floats(a), ElementsAre(3, 4, 11));
  }
  // Memory of the caller's that begins within the input.
  const Tensor memory = F32({1, 2, 3, 0});
  const Call shifted = RunWith(context, {memory.View({3}, {1}, 0), F32({10, 20, 30})}, {0}, {memory.View({3}, {1}, 1)});
  ASSERT_TRUE(shifted.status.ok()) << shifted.status;
  EXPECT_THAT(Floats(memory), ElementsAre(1, 11, 22, 33));
}

TEST(Donation, NotOverAnInputThatSomethingElseReads) {
  Plan plan = AddOver();
  plan.num_values = 5;
  plan.outputs = {3, 4};
  plan.body.instructions.push_back(plan::Allocate{4, DType::kF32, {Operand::Imm(3)}});
  plan.body.instructions.push_back(
      plan::Launch{1, {0, 4}, {Operand::Imm(5)}, Operand::Imm(3), 1, Operand::Imm(8), "scale"});
  TestContext context(*Prepare(plan));
  const Call call = RunWith(context, {F32({1, 2, 3}), F32({1, 1, 1})}, {0});
  EXPECT_THAT(Floats(call.outputs[0]), ElementsAre(2, 3, 4));
  EXPECT_THAT(Floats(call.outputs[1]), ElementsAre(5, 10, 15));
}

// A launch that only copies has nothing to do where input and output are the same memory (this one would show).
TEST(Donation, NothingIsCopiedOntoItself) {
  Plan plan = AddOver();
  plan.inputs = {0};
  plan.body.instructions[1] =
      plan::Launch{1, {0, 3}, {Operand::Imm(5)}, Operand::Imm(3), 1, Operand::Imm(8), "scale", /*copies=*/true};
  TestContext context(*Prepare(plan));
  const Tensor a = F32({1, 2, 3});
  EXPECT_THAT(Floats(RunWith(context, {a}, {0}).outputs[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Floats(RunWith(context, {a}, {}).outputs[0]), ElementsAre(5, 10, 15));
}

// outs = {(a + b) * 3, (a + b) * 5}: both are made when the inputs are not read any more.
TEST(Donation, MemoryGoesToOneOutput) {
  Plan plan = AddScaleOfThree();
  plan.num_values = 5;
  plan.outputs = {3, 4};
  plan.body.instructions.push_back(plan::Allocate{4, DType::kF32, {Operand::Imm(3)}});
  plan.body.instructions.push_back(
      plan::Launch{1, {2, 4}, {Operand::Imm(5)}, Operand::Imm(3), 1, Operand::Imm(8), "scale"});
  TestContext context(*Prepare(plan));
  for (const std::vector<int>& donated : {std::vector<int>{0}, {0, 0}, {0, 1, 0, 1}}) {
    const Call call = RunWith(context, {F32({1, 2, 3}), F32({1, 1, 1})}, donated);
    ASSERT_TRUE(call.status.ok()) << call.status;
    EXPECT_THAT(Floats(call.outputs[0]), ElementsAre(6, 9, 12));
    EXPECT_THAT(Floats(call.outputs[1]), ElementsAre(10, 15, 20));
  }
}

TEST(Donation, InputsThatAreNot) {
  TestContext context(*Prepare(AddScaleOfThree()));
  const Tensor a = F32({1, 2, 3});
  EXPECT_THAT(std::string(RunWith(context, {a, a}, {2}).status.message()), HasSubstr("input 2 is donated"));
  EXPECT_FALSE(RunWith(context, {a, a}, {-1}).status.ok());
}

}  // namespace
}  // namespace tcc
