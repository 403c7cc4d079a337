// Plans with values on a device, written by hand.
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> Ramp(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

class DeviceExecutorTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = Make(GetParam()); }
  void TearDown() override {
    const Counters left = device_->counters();
    EXPECT_EQ(left.bytes, 0);
    EXPECT_EQ(left.streams, 0);
    EXPECT_EQ(left.events, 0);
    EXPECT_EQ(left.modules, 0);
  }
  std::shared_ptr<ComputeDevice> device_;
};

TEST_P(DeviceExecutorTest, Runs) {
  const auto plan = PrepareOn(device_, AddScale());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*plan)->device(), device_);
  EXPECT_EQ(device_->counters().modules, 2);
  ExecutionContext context(*plan);
  for (const int64_t n : {1, 31, 32, 100, 7}) {
    const Tensor a = Vector(Ramp(n)), b = Vector(std::vector<float>(static_cast<size_t>(n), 1));
    const auto outputs = context.Run({a, b}, {n});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].device(), Device{});
    ASSERT_EQ((*outputs)[0].num_elements(), n);
    if (!Computes(*device_)) continue;
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(Floats((*outputs)[0])[static_cast<size_t>(i)], static_cast<float>(3 * (i + 1)));
    }
  }
  EXPECT_EQ(device_->counters().launches, 10);
  EXPECT_GE(context.arena_bytes(), 400);
  // One wait a call.
  EXPECT_EQ(device_->counters().synchronisations, 5);
}

TEST_P(DeviceExecutorTest, NoDeviceForIt) {
  EXPECT_THAT(std::string(PreparedPlan::Create(AddScale(), nullptr).status().message()),
              HasSubstr("it has values on a device, but was given none"));
}

// Strides are sorted out on the way.
TEST_P(DeviceExecutorTest, InputsOfAnyStrides) {
  ExecutionContext context(*PrepareOn(device_, AddScale()));
  const Tensor ramp = Vector(Ramp(6));
  const Tensor every_other = ramp.View({3}, {2}, 0), backwards = ramp.View({3}, {-1}, 2);
  const auto outputs = context.Run({every_other, backwards}, {3});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(6, 9, 12));
}

// Inputs that are there already are not copied, outputs can stay there.
TEST_P(DeviceExecutorTest, TensorsOnTheDevice) {
  StreamHandle* const stream = *device_->CreateStream();
  const std::vector<float> values = {1, 2, 3, 4};
  void* const in = *device_->Allocate(16);
  void* const out = *device_->Allocate(16);
  ASSERT_TRUE(device_->CopyToDevice(in, values.data(), 16, stream).ok());
  ASSERT_TRUE(device_->Synchronize(stream).ok());
  const int64_t copies = device_->counters().copies;
  {
    ExecutionContext context(*PrepareOn(device_, AddScale()));
    const Tensor input = Tensor::Wrap(in, DType::kF32, {4}, {}, nullptr, device_->id());
    const Tensor output = Tensor::Wrap(out, DType::kF32, {4}, {}, nullptr, device_->id());
    RunOptions options;
    options.outputs = {&output, 1};
    std::vector<Tensor> outputs;
    // Here the plan's output is the value on the device itself.
    Plan plan = AddScale();
    plan.outputs = {5};
    plan.body.instructions.pop_back();
    ExecutionContext direct(*PrepareOn(device_, plan));
    const absl::Status status = direct.Run({input, input}, {4}, options, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(outputs[0].data(), out);
    EXPECT_EQ(device_->counters().copies, copies);
    // Memory that starts where no vector can be stored: it gets a copy.
    void* const wide = *device_->Allocate(20);
    const Tensor odd = Tensor::Wrap(static_cast<char*>(wide) + 4, DType::kF32, {4}, {}, nullptr, device_->id());
    options.outputs = {&odd, 1};
    ASSERT_TRUE(direct.Run({input, input}, {4}, options, &outputs).ok());
    EXPECT_EQ(outputs[0].data(), odd.data());
    EXPECT_EQ(device_->counters().copies, copies + 1);
    std::vector<float> there(4);
    ASSERT_TRUE(device_->CopyToHost(there.data(), odd.data(), 16, stream).ok());
    ASSERT_TRUE(device_->Synchronize(stream).ok());
    if (Computes(*device_)) EXPECT_THAT(there, ElementsAre(6, 12, 18, 24));
    device_->Free(wide, 20);
    // On top of an input.
    void* const state = *device_->Allocate(16);
    ASSERT_TRUE(device_->CopyToDevice(state, values.data(), 16, stream).ok());
    const Tensor in_place = Tensor::Wrap(state, DType::kF32, {4}, {}, nullptr, device_->id());
    options.outputs = {&in_place, 1};
    ASSERT_TRUE(direct.Run({in_place, input}, {4}, options, &outputs).ok());
    ASSERT_TRUE(context.Run({in_place, input}, {4}, options, &outputs).ok());
    EXPECT_EQ(outputs[0].data(), state);
    std::vector<float> after(4);
    ASSERT_TRUE(device_->CopyToHost(after.data(), state, 16, stream).ok());
    ASSERT_TRUE(device_->Synchronize(stream).ok());
    if (Computes(*device_)) EXPECT_THAT(after, ElementsAre(21, 42, 63, 84));
    device_->Free(state, 16);
    options.outputs = {&output, 1};
    // Also where the plan brings it to the host at its end.
    const int64_t before = device_->counters().copies;
    ASSERT_TRUE(context.Run({input, input}, {4}, options, &outputs).ok());
    EXPECT_EQ(outputs[0].data(), out);
    EXPECT_EQ(device_->counters().copies, before);
    // Without memory for it, it comes to the host, or stays there if that is wanted.
    options = RunOptions();
    options.outputs_on_device = true;
    for (ExecutionContext* one : {&direct, &context}) {
      std::vector<Tensor> first, second;
      ASSERT_TRUE(one->Run({input, input}, {4}, options, &first).ok());
      ASSERT_TRUE(one->Run({input, input}, {4}, options, &second).ok());
      EXPECT_EQ(first[0].device(), device_->id());
      EXPECT_NE(first[0].data(), second[0].data());
      const auto further = one->Run({first[0], second[0]}, {4});
      ASSERT_TRUE(further.ok()) << further.status();
      if (Computes(*device_)) EXPECT_THAT(Floats((*further)[0]), ElementsAre(36, 72, 108, 144));
    }
    const auto on_host = direct.Run({input, input}, {4});
    ASSERT_TRUE(on_host.ok()) << on_host.status();
    if (Computes(*device_)) EXPECT_THAT(Floats((*on_host)[0]), ElementsAre(6, 12, 18, 24));
    // Of another device.
    const Tensor elsewhere = Tensor::Wrap(in, DType::kF32, {4}, {}, nullptr, {DeviceType::kCuda, 7});
    EXPECT_THAT(std::string(context.Run({elsewhere, input}, {4}).status().message()),
                HasSubstr("input 0 is on a device, but not on that of this plan"));
  }
  std::vector<float> result(4);
  ASSERT_TRUE(device_->CopyToHost(result.data(), out, 16, stream).ok());
  ASSERT_TRUE(device_->Synchronize(stream).ok());
  if (Computes(*device_)) EXPECT_THAT(result, ElementsAre(6, 12, 18, 24));
  device_->Free(in, 16);
  device_->Free(out, 16);
  device_->DestroyStream(stream);
}

TEST_P(DeviceExecutorTest, MemoryOfTheCaller) {
  ExecutionContext context(*PrepareOn(device_, AddScale()));
  const Tensor a = Vector({1, 2, 3});
  std::vector<float> memory(6, -1);
  std::vector<Tensor> outputs;
  RunOptions options;
  const Tensor target = Tensor::Wrap(memory.data(), DType::kF32, {3}, {2});
  options.outputs = {&target, 1};
  const absl::Status status = context.Run({a, a}, {3}, options, &outputs);
  ASSERT_TRUE(status.ok()) << status;
  if (Computes(*device_)) EXPECT_THAT(memory, ElementsAre(6, -1, 12, -1, 18, -1));
  // In the place of an input.
  options.outputs = {&a, 1};
  ASSERT_TRUE(context.Run({a, a}, {3}, options, &outputs).ok());
  if (Computes(*device_)) EXPECT_THAT(Floats(a), ElementsAre(6, 12, 18));
}

// Constants are copied when the plan is made, and never again.
TEST_P(DeviceExecutorTest, Constants) {
  Plan plan;
  plan.num_values = 5;
  plan.inputs = {0};
  plan.outputs = {4};
  plan.functions = {"add"};
  plan.constants = {{1, DType::kF32, {4}, 0, 16}};
  const Operand n = Operand::Imm(4);
  plan.body.instructions = {plan::Transfer{2, 1, Space::kDevice}, plan::Transfer{3, 0, Space::kDevice},
                            plan::Allocate{4, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice},
                            LaunchOf(0, {4, 2, 3}, {n}, "add")};
  const float constant[4] = {10, 20, 30, 40};
  const auto prepared = PrepareOn(device_, plan, {reinterpret_cast<const char*>(constant), 16});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(device_->counters().copies, 1);
  ExecutionContext context(*prepared), other(*prepared);
  for (ExecutionContext* one : {&context, &other, &context}) {
    const auto outputs = one->Run({Vector({1, 2, 3, 4})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(11, 22, 33, 44));
  }
  // An input and an output for each call.
  EXPECT_EQ(device_->counters().copies, 1 + 3 * 2);
  plan.body.instructions.push_back(plan::Allocate{2, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice});
  EXPECT_THAT(std::string(PrepareOn(device_, plan, {reinterpret_cast<const char*>(constant), 16}).status().message()),
              HasSubstr("value 2, a constant, is written"));
}

// Views of what is on the device, one of them with gaps.
TEST_P(DeviceExecutorTest, Views) {
  Plan plan;
  plan.num_values = 6;
  plan.inputs = {0};
  plan.outputs = {5};
  plan.functions = {"add"};
  const Operand two = Operand::Imm(2);
  plan.body.instructions = {plan::Transfer{1, 0, Space::kDevice},
                            plan::View{2, 1, {two}, {}, two},
                            plan::View{3, 1, {two}, {Operand::Imm(-2)}, Operand::Imm(3)},
                            plan::Allocate{4, DType::kF32, {two}, plan::kFreshSlot, 0, kNoValue, Space::kDevice},
                            LaunchOf(0, {4, 2, 3}, {two}, "add"),
                            plan::Transfer{5, 4, Space::kHost}};
  ExecutionContext context(*PrepareOn(device_, plan));
  for (int i = 0; i < 2; ++i) {
    const auto outputs = context.Run({Vector({1, 10, 100, 1000})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(1100, 1010));
  }
}

// Loads a tile, zero beyond the tensor of [3, columns], whose rows have `stride` elements, from so many on.
Plan LoadTile(int64_t offset, int64_t stride) {
  Plan plan;
  plan.num_values = 5;
  plan.num_registers = 1;
  plan.inputs = {0};
  plan.outputs = {4};
  plan.symbol_registers = {0};
  plan.functions = {"load_tile"};
  plan::DeviceLaunch launch = LaunchOf(0, {3, 2}, {Operand::Imm(4), Operand::Imm(-1)}, "load");
  launch.grid[0] = Operand::Imm(1);
  launch.shared_bytes = Operand::Imm(128);
  launch.tensor_maps = {{1, 4, {Operand::Reg(0), Operand::Imm(3)}, {Operand::Imm(stride)}, {8, 4}, 0}};
  plan.body.instructions = {
      plan::Transfer{1, 0, Space::kDevice}, plan::View{2, 1, {Operand::Imm(36)}, {}, Operand::Imm(offset)},
      plan::Allocate{3, DType::kF32, {Operand::Imm(32)}, plan::kFreshSlot, 0, kNoValue, Space::kDevice}, launch,
      plan::Transfer{4, 3, Space::kHost}};
  return plan;
}

// The tensor may start anywhere: where maps cannot start it is copied.
TEST_P(DeviceExecutorTest, TensorMaps) {
  for (const int64_t offset : {0, 1, 4}) {
    const Plan plan = LoadTile(offset, 12);
    const auto prepared = PrepareOn(device_, plan);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ExecutionContext context(*prepared, nullptr, 2);
    for (const int64_t columns : {10, 10, 10, 12, 5}) {
      const auto outputs = context.Run({Vector(Ramp(40))}, {columns});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      if (!Computes(*device_)) continue;
      const std::vector<float> got = Floats((*outputs)[0]);
      for (int64_t row = -1; row < 3; ++row) {
        for (int64_t column = 4; column < 12; ++column) {
          const int64_t expected = row >= 0 && column < columns ? offset + row * 12 + column : 0;
          ASSERT_EQ(got[static_cast<size_t>((row + 1) * 8 + column - 4)], static_cast<float>(expected))
              << offset << " " << columns << " " << row << " " << column;
        }
      }
    }
  }
}

// Strides that no device takes, nor 64 bits of bytes.
TEST_P(DeviceExecutorTest, TensorMapsThatAreTooLarge) {
  if (device_->kind() == Kind::kNull) GTEST_SKIP() << "makes none";
  for (const int64_t stride : {int64_t{1} << 38, int64_t{1} << 62, std::numeric_limits<int64_t>::max()}) {
    const auto prepared = PrepareOn(device_, LoadTile(0, stride));
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ExecutionContext context(*prepared);
    EXPECT_FALSE(context.Run({Vector(Ramp(40))}, {10}).ok()) << stride;
  }
}

// A branch and a loop that the host decides on what the device computed.
TEST_P(DeviceExecutorTest, ControlFlow) {
  if (!Computes(*device_)) GTEST_SKIP() << "nothing is computed";
  // y = x; for (i = 0; i < 3; ++i) y = y * 2;  z = sign(y[0]) ? y : x, on the device throughout.
  Plan plan;
  plan.num_values = 12;
  plan.num_registers = 1;
  plan.inputs = {0, 1};
  plan.outputs = {9};
  plan.slot_bytes = {Operand::Imm(16)};
  plan.functions = {"scale"};
  const Operand n = Operand::Imm(4);
  plan::Loop loop;
  loop.trip_count = 1;
  loop.blocks = {Block{{plan::Allocate{3, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice},
                        LaunchOf(0, {3, 2}, {n, Operand::Imm(2)}, "twice"), plan::Move{2, 3}}}};
  plan.body.instructions = {plan::Transfer{4, 0, Space::kDevice},
                            plan::Move{2, 4},
                            loop,
                            plan::Transfer{5, 2, Space::kHost},
                            plan::View{6, 1, {}, {}, Operand::Imm(0)},
                            plan::ReadElement{0, 6, 0},
                            plan::MakeTensor{7, DType::kBool, {}, {Operand::Reg(0)}},
                            plan::If{7, {Block{{plan::Move{8, 2}}}, Block{{plan::Move{8, 4}}}}},
                            plan::Transfer{9, 8, Space::kHost}};
  ExecutionContext context(*PrepareOn(device_, plan));
  const auto run = [&](int64_t trips) {
    const auto outputs = context.Run({Vector({1, 2, 3, 4}), Tensor::Scalar<int64_t>(trips)});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? Floats((*outputs)[0]) : std::vector<float>();
  };
  EXPECT_THAT(run(3), ElementsAre(8, 16, 24, 32));
  EXPECT_THAT(run(1), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(run(0), ElementsAre(1, 2, 3, 4));
}

// What the host computes in between is where the device finds it, and the other way round.
TEST_P(DeviceExecutorTest, LibraryCallsInBetween) {
  Plan plan;
  plan.num_values = 7;
  plan.inputs = {0};
  plan.outputs = {6};
  plan.functions = {"scale"};
  const Operand n = Operand::Imm(4);
  const auto fresh = [&](ValueId value) {
    return plan::Allocate{value, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice};
  };
  plan::Library library;
  library.op = "negate";
  library.inputs = {3};
  library.results = {{4, DType::kF32, {n}}};
  plan.body.instructions = {plan::Transfer{1, 0, Space::kDevice},
                            fresh(2),
                            LaunchOf(0, {2, 1}, {n, Operand::Imm(5)}, "five"),
                            plan::Transfer{3, 2, Space::kHost},
                            library,
                            plan::Transfer{5, 4, Space::kDevice},
                            fresh(6),
                            LaunchOf(0, {6, 5}, {n, Operand::Imm(2)}, "two")};
  PreparedPlan::Options options;
  options.device = device_;
  options.images = Images();
  options.find = [](std::string_view) -> reference::Kernel {
    return [](const reference::Call& call) -> absl::StatusOr<std::vector<Tensor>> {
      EXPECT_EQ(call.inputs[0].device(), Device{});
      std::vector<float> values = Floats(call.inputs[0]);
      for (float& value : values) value = -value;
      return std::vector<Tensor>{Vector(values)};
    };
  };
  ExecutionContext context(*PreparedPlan::Create(plan, nullptr, {}, nullptr, options));
  for (int i = 0; i < 2; ++i) {
    const auto outputs = context.Run({Vector({1, 2, 3, 4})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(-10, -20, -30, -40));
  }
}

TEST_P(DeviceExecutorTest, Profiles) {
  ExecutionContext context(*PrepareOn(device_, AddScale()));
  std::vector<std::string> names;
  const ProfileHook hook = [&](const ProfileEvent& event) {
    EXPECT_GE(event.end_ns, event.start_ns);
    if (event.kind == "launch" || event.kind == "transfer") names.emplace_back(event.name);
  };
  RunOptions options;
  options.profile = &hook;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(context.Run({Vector({1}), Vector({2})}, {1}, options, &outputs).ok());
  // (Outputs are taken at the end, not by an instruction.)
  EXPECT_THAT(names, ElementsAre("transfer", "transfer", "node 'a' (Add)", "node 'm' (Mul)"));
}

// Nothing is started for an empty grid.
TEST_P(DeviceExecutorTest, EmptyGrids) {
  Plan plan = AddScale();
  for (Instruction& instruction : plan.body.instructions) {
    if (auto* launch = std::get_if<plan::DeviceLaunch>(&instruction)) launch->grid[0] = Operand::Reg(0);
  }
  ExecutionContext context(*PrepareOn(device_, plan));
  const auto outputs = context.Run({Vector({}), Vector({})}, {0});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].num_elements(), 0);
  EXPECT_EQ(device_->counters().launches, 0);
}

TEST_P(DeviceExecutorTest, StreamsOfTheCaller) {
  StreamHandle* const stream = *device_->CreateStream();
  {
    ExecutionContext context(*PrepareOn(device_, AddScale()));
    RunOptions options;
    options.stream = stream;
    std::vector<Tensor> outputs;
    const absl::Status status = context.Run({Vector({1}), Vector({2})}, {1}, options, &outputs);
    if (device_->kind() == Kind::kCuda) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_THAT(std::string(status.message()), HasSubstr("a stream was given, but"));
    }
  }
  device_->DestroyStream(stream);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceExecutorTest, testing::Values("null", "cuda-sim", "fake-cuda"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tcc::devices
