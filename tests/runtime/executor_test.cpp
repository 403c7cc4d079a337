#include "runtime/executor.h"

#include <cmath>
#include <stdexcept>

#include "tests/runtime/executor_test_util.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tcc {

using reference::Call;
using Results = absl::StatusOr<std::vector<Tensor>>;

reference::Kernel FindTestKernel(std::string_view op) {
  if (op == "sum") {
    return [](const Call& call) -> Results {
      Tensor result = *call.inputs[0].Clone();
      for (size_t i = 1; i < call.inputs.size(); ++i) {
        if (!call.inputs[i].valid()) continue;
        const std::vector<float> values = Floats(call.inputs[i]);
        for (size_t j = 0; j < values.size(); ++j) result.data_as<float>()[j] += values[j];
      }
      return std::vector<Tensor>{result};
    };
  }
  if (op == "view") return [](const Call& call) -> Results { return std::vector<Tensor>{call.inputs[0]}; };
  if (op == "less") {
    return [](const Call& call) -> Results {
      return std::vector<Tensor>{Tensor::Scalar<bool>((*ToInt64s(call.inputs[0]))[0] < (*ToInt64s(call.inputs[1]))[0])};
    };
  }
  if (op == "increment") {
    return [](const Call& call) -> Results {
      return std::vector<Tensor>{Tensor::Scalar<int64_t>((*ToInt64s(call.inputs[0]))[0] + 1)};
    };
  }
  if (op == "fill") {
    return [](const Call& call) -> Results {
      Tensor result = *Tensor::Allocate(DType::kF32, *call.attributes.Ints("shape"));
      std::fill_n(result.data_as<float>(), result.num_elements(), 7.0f);
      return std::vector<Tensor>{result};
    };
  }
  if (op == "fail") return [](const Call&) -> Results { return absl::InvalidArgumentError("bad axis"); };
  if (op == "throw") return [](const Call&) -> Results { throw std::runtime_error("oops"); };
  if (op == "wrong") return [](const Call&) -> Results { return std::vector<Tensor>{Tensor::Scalar<int8_t>(1)}; };
  return nullptr;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Executor, DynamicExtents) {
  ThreadPool pool(3);
  TestContext context(*Prepare(AddScale()), &pool);
  for (int64_t n : {1, 2, 5, 97, 1000, 3}) {
    std::vector<float> a(static_cast<size_t>(n)), expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i);
      expected[i] = static_cast<float>(i) * 6;
    }
    const auto outputs = context.Run({F32(a), F32(a)}, {n});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Floats((*outputs)[0]), expected);
  }
  EXPECT_GE(context.arena_bytes(), 4000);
}

TEST(Executor, OutputsDoNotShareMemory) {
  // The value itself twice, and a view of it.
  Plan plan;
  plan.num_values = 3;
  plan.inputs = {0};
  plan.outputs = {1, 2, 1};
  plan.body.instructions = {
      plan::Library{"fill", {}, {{"shape", {Operand::Imm(4)}}}, {}, {{1, DType::kF32, {Operand::Imm(4)}}}, ""},
      plan::View{2, 1, {Operand::Imm(2), Operand::Imm(2)}, {}, {}}};
  TestContext context(*Prepare(plan));
  const std::vector<Tensor> outputs = *context.Run({F32({1})}, {});
  outputs[0].data_as<float>()[0] = 1;
  outputs[1].data_as<float>()[0] = 2;
  EXPECT_THAT(Floats(outputs[0]), ElementsAre(1, 7, 7, 7));
  EXPECT_THAT(Floats(outputs[1]), ElementsAre(2, 7, 7, 7));
  EXPECT_THAT(Floats(outputs[2]), ElementsAre(7, 7, 7, 7));
}

TEST(Executor, OutputsOfEarlierCallsStay) {
  TestContext context(*Prepare(AddScale()));
  const Tensor first = (*context.Run({F32({1, 2}), F32({0, 0})}, {2}))[0];
  const Tensor second = (*context.Run({F32({5, 5}), F32({0, 0})}, {2}))[0];
  EXPECT_THAT(Floats(first), ElementsAre(3, 6));
  EXPECT_THAT(Floats(second), ElementsAre(15, 15));
}

TEST(Executor, StridedAndMisalignedInputs) {
  TestContext context(*Prepare(AddScale()));
  const Tensor a = F32({0, 1, 2, 3, 4, 5});
  const auto outputs = context.Run({a.View({3}, {-2}, 5), a.View({3}, {0}, 1)}, {3});
  EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(18, 12, 6));
  std::vector<char> bytes(17);
  const float values[3] = {1, 2, 3};
  memcpy(bytes.data() + 1, values, sizeof(values));
  const Tensor odd = Tensor::Wrap(bytes.data() + 1, DType::kF32, {3});
  EXPECT_THAT(Floats((*context.Run({odd, odd}, {3}))[0]), ElementsAre(6, 12, 18));
}

TEST(Executor, CallerOwnedOutputs) {
  TestContext context(*Prepare(AddScale()));
  const Tensor a = F32({1, 2, 3});
  std::vector<Tensor> outputs;
  // Written in place.
  Tensor mine = F32({0, 0, 0});
  ASSERT_TRUE(context.Run({a, a}, {3}, {{mine}, nullptr}, &outputs).ok());
  EXPECT_EQ(outputs[0].data(), mine.data());
  EXPECT_THAT(Floats(mine), ElementsAre(6, 12, 18));
  // Strided: copied.
  const Tensor wide = F32({0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(context.Run({a, a}, {3}, {{wide.View({3}, {2}, 0)}, nullptr}, &outputs).ok());
  EXPECT_THAT(Floats(wide), ElementsAre(6, 0, 12, 0, 18, 0));
  // The memory of an input, shifted by one element: as if the input had been read before.
  const Tensor shared = F32({1, 2, 3, 4});
  ASSERT_TRUE(context.Run({shared.View({3}, {1}, 0), a}, {3}, {{shared.View({3}, {1}, 1)}, nullptr}, &outputs).ok());
  EXPECT_THAT(Floats(shared), ElementsAre(1, 6, 12, 18));
  // Of other extents or another type.
  const absl::Status status = context.Run({a, a}, {3}, {{F32({1, 2})}, nullptr}, &outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory for output 0 is f32[2], the output is f32[3]"));
  EXPECT_FALSE(context.Run({a, a}, {3}, {{mine, mine}, nullptr}, &outputs).ok());
}

// Identity, a constant and a view of an input as outputs: never memory that somebody else will change.
TEST(Executor, OutputsDoNotAlias) {
  Plan plan;
  plan.num_values = 3;
  plan.inputs = {0};
  plan.outputs = {0, 1, 2, 0};
  plan.constants = {{1, DType::kF32, {2}, 0, 8}};
  plan.body.instructions = {
      plan::View{2, 0, {Operand::Imm(2), Operand::Imm(2)}, {Operand::Imm(1), Operand::Imm(2)}, {}}};
  alignas(64) const float constants[2] = {8, 9};
  TestContext context(*Prepare(plan, {reinterpret_cast<const char*>(constants), sizeof(constants)}));
  const Tensor input = F32({1, 2, 3, 4}, {2, 2});
  const auto outputs = *context.Run({input});
  input.data_as<float>()[0] = 100;
  outputs[1].data_as<float>()[0] = 100;
  outputs[3].data_as<float>()[1] = 100;
  EXPECT_THAT(Floats(outputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Floats(outputs[2]), ElementsAre(1, 3, 2, 4));
  EXPECT_TRUE(outputs[2].is_contiguous());
  EXPECT_THAT(Floats((*context.Run({input}))[1]), ElementsAre(8, 9));
}

TEST(Executor, StaticPlansAllocateOnce) {
  Plan plan;
  plan.num_values = 5;
  plan.inputs = {0};
  plan.outputs = {4};
  plan.slot_bytes = {Operand::Imm(192)};
  plan.functions = {"add"};
  plan.body.instructions = {plan::Allocate{1, DType::kF32, {Operand::Imm(4)}, 0, 64},
                            plan::Launch{0, {0, 0, 1}, {}, Operand::Imm(4), 1, {}, "add"},
                            plan::View{2, 1, {Operand::Imm(2)}, {}, Operand::Imm(2)},
                            plan::View{3, 1, {Operand::Imm(2)}, {Operand::Imm(-1)}, Operand::Imm(1)},
                            plan::Allocate{4, DType::kF32, {Operand::Imm(2)}},
                            plan::Launch{0, {2, 3, 4}, {}, Operand::Imm(2), 1, {}, "add"},
                            plan::Release{1}};
  TestContext context(*Prepare(plan));
  for (int round = 0; round < 3; ++round) {
    const auto r = static_cast<float>(round);
    EXPECT_THAT(Floats((*context.Run({F32({r, 2, 3, 4})}))[0]), ElementsAre(6 + 4, 8 + 2 * r));
  }
}

TEST(Executor, LibraryCalls) {
  Plan plan;
  plan.num_values = 4;
  plan.num_registers = 1;
  plan.inputs = {0, kNoValue, 1};
  plan.outputs = {2, 3};
  plan.symbol_registers = {0};
  plan.body.instructions = {plan::Library{"sum", {}, {}, {0, kNoValue, 1}, {{2, DType::kF32, {Operand::Imm(-1)}}}, "s"},
                            plan::Library{"fill",
                                          {},
                                          {{"shape", {Operand::Imm(1), Operand::Reg(0)}}},
                                          {},
                                          {{3, DType::kF32, {Operand::Imm(1), Operand::Reg(0)}}},
                                          ""}};
  TestContext context(*Prepare(plan));
  const auto outputs = context.Run({F32({1, 2}), Tensor(), Tensor()}, {3});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(1, 2));
  EXPECT_THAT(Floats((*outputs)[1]), ElementsAre(7, 7, 7));
  EXPECT_THAT(Floats((*context.Run({F32({1, 2}), Tensor(), F32({10, 20})}, {3}))[0]), ElementsAre(11, 22));
}

// A kernel may return its input; the slot that the input lives in is used again before the result is read.
TEST(Executor, LibraryResultsDoNotAliasSlots) {
  Plan plan;
  plan.num_values = 4;
  plan.inputs = {0};
  plan.outputs = {2};
  plan.slot_bytes = {Operand::Imm(64)};
  plan.functions = {"add"};
  plan.body.instructions = {plan::Allocate{1, DType::kF32, {Operand::Imm(2)}, 0, 0},
                            plan::Launch{0, {0, 0, 1}, {}, Operand::Imm(2), 1, {}, ""},
                            plan::Library{"view", {}, {}, {1}, {{2, DType::kF32, {Operand::Imm(2)}}}, ""},
                            plan::Allocate{3, DType::kF32, {Operand::Imm(2)}, 0, 0},
                            plan::Launch{0, {1, 1, 3}, {}, Operand::Imm(2), 1, {}, ""}};
  TestContext context(*Prepare(plan));
  EXPECT_THAT(Floats((*context.Run({F32({1, 2})}))[0]), ElementsAre(2, 4));
}

TEST(Executor, StringConstants) {
  Plan plan;
  plan.num_values = 1;
  plan.outputs = {0};
  const std::string bytes("\3\0\0\0abc\0\0\0\0", 11);
  plan.constants = {{0, DType::kString, {2}, 0, static_cast<int64_t>(bytes.size())}};
  TestContext context(*Prepare(plan, bytes));
  EXPECT_EQ(DebugString((*context.Run({}))[0]), "string[2] {\"abc\", \"\"}");
  plan.constants[0].dims = {3};
  EXPECT_FALSE(Prepare(plan, bytes).ok());
  plan.constants[0].dims = {int64_t{1} << 50};
  EXPECT_FALSE(Prepare(plan, bytes).ok());
}

TEST(Executor, ShapeArithmetic) {
  const int64_t min = std::numeric_limits<int64_t>::min(), max = std::numeric_limits<int64_t>::max();
  const auto compute = [](IntOp op, int64_t a, int64_t b) -> absl::StatusOr<int64_t> {
    Plan plan;
    plan.num_values = 1;
    plan.num_registers = 1;
    plan.outputs = {0};
    plan.body.instructions = {plan::Compute{0, op, Operand::Imm(a), Operand::Imm(b)},
                              plan::MakeTensor{0, DType::kI64, {}, {Operand::Reg(0)}}};
    TestContext context(*Prepare(plan));
    const auto outputs = context.Run({});
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0].data_as<int64_t>()[0];
  };
  EXPECT_EQ(*compute(IntOp::kFloorDiv, -7, 2), -4);
  EXPECT_EQ(*compute(IntOp::kFloorDiv, 7, -2), -4);
  EXPECT_EQ(*compute(IntOp::kFloorDiv, -7, -2), 3);
  EXPECT_EQ(*compute(IntOp::kCeilDiv, 7, 2), 4);
  EXPECT_EQ(*compute(IntOp::kCeilDiv, -7, 2), -3);
  EXPECT_EQ(*compute(IntOp::kCeilDiv, -7, -2), 4);
  EXPECT_EQ(*compute(IntOp::kMod, -7, 2), 1);
  EXPECT_EQ(*compute(IntOp::kMod, 7, -2), -1);
  EXPECT_EQ(*compute(IntOp::kMod, min, -1), 0);
  EXPECT_EQ(*compute(IntOp::kMin, -7, 2), -7);
  EXPECT_EQ(*compute(IntOp::kLt, -7, 2), 1);
  EXPECT_EQ(*compute(IntOp::kEq, -7, 2), 0);
  for (const auto& status : {compute(IntOp::kAdd, max, 1), compute(IntOp::kSub, min, 1), compute(IntOp::kMul, max, 2),
                             compute(IntOp::kFloorDiv, min, -1), compute(IntOp::kCeilDiv, min, -1)}) {
    EXPECT_EQ(status.status().code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_EQ(compute(IntOp::kMod, 1, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

std::string RunError(const Plan& plan, std::vector<Tensor> inputs = {}) {
  const auto prepared = Prepare(plan);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  TestContext context(*prepared);
  const auto outputs = context.Run(inputs);
  EXPECT_FALSE(outputs.ok());
  return std::string(outputs.status().message());
}

TEST(Executor, ErrorsSayWhat) {
  Plan plan;
  plan.num_values = 3;
  plan.num_registers = 1;
  plan.inputs = {0};
  plan.outputs = {0};
  const Tensor x = F32({1, 2});
  const auto with = [&](Instruction instruction) {
    plan.body.instructions = {std::move(instruction)};
    return plan;
  };
  EXPECT_EQ(RunError(with(plan::Library{"fail", {}, {}, {0}, {}, "node 'r'"}), {x}), "node 'r': bad axis");
  EXPECT_THAT(RunError(with(plan::Library{"throw", {}, {}, {0}, {}, ""}), {x}), HasSubstr("oops"));
  EXPECT_THAT(RunError(with(plan::Library{"wrong", {}, {}, {0}, {{1, DType::kF32, {}}}, ""}), {x}),
              HasSubstr("the kernel returned i8[], the plan expects f32[]"));
  EXPECT_THAT(RunError(with(plan::Library{"sum", {}, {}, {0}, {}, ""}), {x}), HasSubstr("returned 1 results"));
  EXPECT_THAT(RunError(with(plan::CheckEqual{Operand::Imm(3), Operand::Imm(4), "extents of 'a' and 'b' differ"}), {x}),
              HasSubstr("extents of 'a' and 'b' differ (3 against 4)"));
  EXPECT_THAT(RunError(with(plan::View{1, 0, {Operand::Imm(3)}, {}, {}}), {x}),
              HasSubstr("lies outside its source f32[2]"));
  EXPECT_THAT(RunError(with(plan::Move{1, 2}), {x}), HasSubstr("value 2 is read before it is set"));
  EXPECT_THAT(RunError(with(plan::ReadExtent{0, 0, 1}), {x}), HasSubstr("axis 1 of f32[2]"));
  EXPECT_THAT(RunError(with(plan::ReadElement{0, 0, 0}), {x}), HasSubstr("element 0 of f32[2]"));
  EXPECT_THAT(RunError(with(plan::If{0, {Block{}, Block{}}}), {x}), HasSubstr("single integer or bool"));
  EXPECT_THAT(RunError(with(plan::Release{0}), {x}), HasSubstr("output 0"));
  EXPECT_THAT(RunError(with(plan::Release{1}), {}), HasSubstr("takes 1 inputs"));
  EXPECT_THAT(RunError(with(plan::Release{1}), {Tensor()}), HasSubstr("output 0"));
  plan.slot_bytes = {Operand::Imm(4), Operand::Imm(int64_t{1} << 60)};
  EXPECT_THAT(RunError(with(plan::Allocate{1, DType::kF32, {Operand::Imm(2)}, 0, 0}), {x}),
              HasSubstr("does not fit into slot"));
  EXPECT_THAT(RunError(with(plan::Allocate{1, DType::kF32, {Operand::Imm(2)}, 1, 0}), {x}), HasSubstr("memory slot 1"));
}

TEST(Executor, EmptyViewsMayStartAnywhere) {
  Plan plan;
  plan.num_values = 2;
  plan.inputs = {0};
  plan.outputs = {1};
  const Operand one = Operand::Imm(1);
  plan.body.instructions = {plan::View{1, 0, {Operand::Imm(0), one}, {Operand::Imm(2), one}, one}};
  TestContext context(*Prepare(plan));
  const auto outputs = context.Run({*Tensor::Allocate(DType::kF32, {0, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].dims(), Dims({0, 1}));
}

TEST(Executor, KernelsReportBadIndices) {
  Plan plan;
  plan.num_values = 3;
  plan.inputs = {0, 1};
  plan.outputs = {2};
  plan.functions = {"gather"};
  plan.body.instructions = {plan::Allocate{2, DType::kF32, {Operand::Imm(2)}},
                            plan::Launch{0, {0, 1, 2}, {Operand::Imm(3)}, Operand::Imm(2), 1, {}, "node 'g' (Gather)"}};
  TestContext context(*Prepare(plan));
  const Tensor table = F32({5, 6, 7});
  EXPECT_THAT(Floats((*context.Run({table, Tensor::Vector<int64_t>({2, 0})}))[0]), ElementsAre(7, 5));
  const absl::Status status = context.Run({table, Tensor::Vector<int64_t>({2, 3})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "node 'g' (Gather): an index is out of range");
  EXPECT_TRUE(context.Run({table, Tensor::Vector<int64_t>({0, 0})}).ok());
}

TEST(Executor, WhatCannotBePrepared) {
  Plan plan;
  plan.num_values = 2;
  plan.functions = {"missing"};
  EXPECT_EQ(Prepare(plan).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(PreparedPlan::Create(plan, nullptr).ok());
  plan.functions.clear();
  plan.body.instructions = {plan::Library{"nms", {}, {}, {}, {}, "node 'n'"}};
  EXPECT_EQ(Prepare(plan).status().message(), "node 'n': no library kernel 'nms'");
  plan.body.instructions = {plan::Move{0, 1}};
  plan.constants = {{0, DType::kF32, {1}, 0, 4}};
  EXPECT_FALSE(Prepare(plan).ok());          // the constant lies outside
  EXPECT_FALSE(Prepare(plan, "1234").ok());  // it is written to
  plan.body.instructions.clear();
  EXPECT_TRUE(Prepare(plan, "1234").ok());
}

TEST(Executor, ProfileNamesEachInstruction) {
  ExecutionContext context(*Prepare(AddScale()));
  std::vector<std::string> names;
  const ProfileHook hook = [&](const ProfileEvent& event) {
    EXPECT_LE(event.start_ns, event.end_ns);
    names.push_back(std::string(event.kind) + ":" + std::string(event.name));
  };
  std::vector<Tensor> outputs;
  ASSERT_TRUE(context.Run({F32({1}), F32({1})}, {1}, {{}, &hook}, &outputs).ok());
  EXPECT_THAT(names,
              ElementsAre("compute:compute", "allocate:allocate", "launch:add", "allocate:allocate", "launch:scale"));
}

#if defined(__x86_64__)
TEST(Executor, FloatControlIsSetAndRestored) {
  TestContext context(*Prepare(AddScale()));
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  const float tiny = std::ldexp(1.0f, -140);
  const auto outputs = context.Run({F32({1}), F32({1})}, {1});
  std::vector<Tensor> denormal = *context.Run({Tensor::Scalar<float>(tiny).View({1}, {1}, 0), F32({0})}, {1});
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
  _mm_setcsr(before);
  EXPECT_EQ(denormal[0].data_as<float>()[0], 3 * tiny);
}
#endif

}  // namespace
}  // namespace tcc
