#include "tests/runtime/executor_test_util.h"

namespace tcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExecutorControlFlow, IfTakesOneBranch) {
  TestContext context(*Prepare(DoubleIf(Block{{plan::Move{3, 1}}})));
  const Tensor x = F32({1, 2});
  EXPECT_THAT(Floats((*context.Run({Tensor::Scalar<bool>(true), x}))[0]), ElementsAre(2, 4));
  EXPECT_THAT(Floats((*context.Run({Tensor::Scalar<bool>(false), x}))[0]), ElementsAre(1, 2));
  EXPECT_THAT(Floats((*context.Run({Tensor::Scalar<bool>(true), x}))[0]), ElementsAre(2, 4));
}

// x doubles each iteration, in slot memory; `n` iterations at most, while i < limit. Scan output: x after each.
Plan Doubling(bool with_trip_count, bool with_condition) {
  Plan plan;
  plan.num_values = 9;
  plan.inputs = {0, 1, 2, 3};  // n, limit, x, condition
  plan.outputs = {2, 7};
  plan.slot_bytes = {Operand::Imm(64)};
  plan.functions = {"add"};
  plan::Loop loop;
  if (with_trip_count) loop.trip_count = 0;
  if (with_condition) loop.condition = 3;
  loop.iteration = 4;
  loop.blocks = {
      Block{{plan::Allocate{5, DType::kF32, {Operand::Imm(2)}, 0, 0},
             plan::Launch{0, {2, 2, 5}, {}, Operand::Imm(2), 1, {}, ""},
             plan::Library{"increment", {}, {}, {4}, {{6, DType::kI64, {}}}, ""},
             plan::Library{"less", {}, {}, {6, 1}, {{8, DType::kBool, {}}}, ""}, plan::Move{3, 8}, plan::Move{2, 5}}}};
  loop.scan_outputs = {{7, 5, DType::kF32, {Operand::Imm(2)}}};
  plan.body.instructions = {loop};
  return plan;
}

absl::StatusOr<std::vector<Tensor>> RunDoubling(const Plan& plan, int64_t n, int64_t limit, bool condition = true) {
  TestContext context(*Prepare(plan));
  return context.Run({Tensor::Scalar(n), Tensor::Scalar(limit), F32({1, 3}), Tensor::Scalar(condition)});
}

TEST(ExecutorControlFlow, LoopsByTripCountAndCondition) {
  auto outputs = *RunDoubling(Doubling(true, true), 3, 100);
  EXPECT_THAT(Floats(outputs[0]), ElementsAre(8, 24));
  EXPECT_EQ(outputs[1].dims(), (Dims{3, 2}));
  EXPECT_THAT(Floats(outputs[1]), ElementsAre(2, 6, 4, 12, 8, 24));

  outputs = *RunDoubling(Doubling(true, true), 100, 2);
  EXPECT_EQ(outputs[1].dims(), (Dims{2, 2}));
  outputs = *RunDoubling(Doubling(false, true), 0, 20);
  EXPECT_EQ(outputs[1].dims(), (Dims{20, 2}));
  EXPECT_EQ(Floats(outputs[0])[0], 1 << 20);
  outputs = *RunDoubling(Doubling(true, false), 2, 0);
  EXPECT_THAT(Floats(outputs[0]), ElementsAre(4, 12));
}

TEST(ExecutorControlFlow, NoIteration) {
  for (const auto& [n, condition] : {std::pair<int64_t, bool>{0, true}, {-5, true}, {7, false}}) {
    const auto outputs = *RunDoubling(Doubling(true, true), n, 100, condition);
    EXPECT_THAT(Floats(outputs[0]), ElementsAre(1, 3));
    EXPECT_EQ(outputs[1].dims(), (Dims{0, 2}));
    EXPECT_EQ(outputs[1].dtype(), DType::kF32);
  }
}

// A huge trip count costs nothing where the condition ends the loop.
TEST(ExecutorControlFlow, HugeTripCount) {
  const auto outputs = *RunDoubling(Doubling(true, true), std::numeric_limits<int64_t>::max(), 5);
  EXPECT_EQ(outputs[1].dims(), (Dims{5, 2}));
}

TEST(ExecutorControlFlow, ErrorsInsideAndAfterwards) {
  Plan plan = Doubling(true, false);
  auto& loop = std::get<plan::Loop>(plan.body.instructions[0]);
  loop.blocks[0].instructions.push_back(plan::Library{"fail", {}, {}, {2}, {}, "node 'inner'"});
  const auto outputs = RunDoubling(plan, 3, 3);
  EXPECT_EQ(outputs.status().message(), "node 'inner': bad axis");

  TestContext context(*Prepare(Doubling(true, false)));
  EXPECT_FALSE(context.Run({Tensor::Vector<int64_t>({1, 2}), Tensor::Scalar<int64_t>(0), F32({1, 3}), Tensor()}).ok());
  EXPECT_TRUE(context.Run({Tensor::Scalar<int64_t>(2), Tensor::Scalar<int64_t>(0), F32({1, 3}), Tensor()}).ok());
}

// Elements that change their extents cannot be stacked.
TEST(ExecutorControlFlow, ScanElementsMustAgree) {
  Plan plan;
  plan.num_values = 4;
  plan.num_registers = 1;
  plan.inputs = {0};
  plan.outputs = {2};
  plan::Loop loop;
  loop.trip_count = 0;
  loop.iteration = 1;
  loop.blocks = {Block{
      {plan::ReadElement{0, 1, 0},
       plan::Library{"fill", {}, {{"shape", {Operand::Reg(0)}}}, {}, {{3, DType::kF32, {Operand::Imm(-1)}}}, ""}}}};
  loop.scan_outputs = {{2, 3, DType::kF32, {Operand::Imm(0)}}};
  plan.body.instructions = {loop};
  TestContext context(*Prepare(plan));
  EXPECT_EQ((*context.Run({Tensor::Scalar<int64_t>(1)}))[0].dims(), (Dims{1, 0}));
  const absl::Status status = context.Run({Tensor::Scalar<int64_t>(3)}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("a loop stacks f32[1] onto elements f32[0]"));
}

// Slots whose size depends on the iteration.
TEST(ExecutorControlFlow, GrowingSlotInALoop) {
  Plan plan;
  plan.num_values = 5;
  plan.num_registers = 3;
  plan.inputs = {0, 1};  // trips, x: f32[1]
  plan.outputs = {3};
  plan.slot_bytes = {Operand::Reg(2)};
  plan.functions = {"add"};
  plan::Loop loop;
  loop.trip_count = 0;
  loop.iteration = 2;
  loop.blocks = {Block{{plan::ReadElement{0, 2, 0}, plan::Compute{1, IntOp::kAdd, Operand::Reg(0), Operand::Imm(1)},
                        plan::Compute{2, IntOp::kMul, Operand::Reg(1), Operand::Imm(4000)},
                        plan::Allocate{4, DType::kF32, {Operand::Reg(1)}, 0, 0},
                        plan::Launch{0, {1, 1, 4}, {}, Operand::Imm(1), 1, {}, ""},
                        plan::View{3, 4, {Operand::Imm(1)}, {}, {}}, plan::Move{1, 3}}}};
  plan.body.instructions = {loop};
  TestContext context(*Prepare(plan));
  EXPECT_THAT(Floats((*context.Run({Tensor::Scalar<int64_t>(5), F32({1})}))[0]), ElementsAre(32));
  EXPECT_THAT(Floats((*context.Run({Tensor::Scalar<int64_t>(3), F32({1})}))[0]), ElementsAre(8));
}

}  // namespace
}  // namespace tcc
