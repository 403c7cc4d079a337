// Errors of plans on a device: clear, with nothing left behind, and the context can be used afterwards.
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DeviceErrorsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = Make(GetParam()); }
  void TearDown() override {
    EXPECT_EQ(device_->counters().bytes, 0);
    EXPECT_EQ(device_->counters().modules, 0);
    EXPECT_EQ(device_->counters().streams, 0);
  }
  std::string ErrorOf(ExecutionContext& context) {
    const auto outputs = context.Run({Vector({1, 2}), Vector({3, 4})}, {2});
    return outputs.ok() ? "" : std::string(outputs.status().message());
  }
  void ExpectWorks(ExecutionContext& context) {
    const auto outputs = context.Run({Vector({1, 2}), Vector({3, 4})}, {2});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(12, 18));
  }
  std::shared_ptr<ComputeDevice> device_;
};

// Each operation of a first call, and of a later one, fails in turn, interpreted and recorded.
TEST_P(DeviceErrorsTest, EveryFaultIsOneOfTheCall) {
  const auto plan = *PrepareOn(device_, AddScale());
  for (const int mode : {0, 1, 2, 3}) {
    const bool warm = mode % 2 == 1;
    for (const Fault fault : {Fault::kAllocate, Fault::kCopy, Fault::kLaunch, Fault::kSynchronize, Fault::kStream}) {
      int failed = 0;
      for (int64_t skip = 0; skip < 10; ++skip) {
        ExecutionContext context(plan, nullptr, mode / 2);
        if (warm) ExpectWorks(context);
        device_->Inject(fault, skip);
        const std::string error = ErrorOf(context);
        if (!error.empty()) {
          EXPECT_THAT(error, HasSubstr("injected fault"));
          ++failed;
        }
        device_->Inject(fault, -1);
        ExpectWorks(context);
      }
      EXPECT_EQ(failed > 0, !warm || (fault != Fault::kAllocate && fault != Fault::kStream))
          << static_cast<int>(fault) << " " << mode;
    }
  }
}

TEST_P(DeviceErrorsTest, LaunchesAreNamed) {
  ExecutionContext context(*PrepareOn(device_, AddScale()));
  device_->Inject(Fault::kLaunch, 1);
  EXPECT_THAT(ErrorOf(context), HasSubstr("node 'm' (Mul): injected fault: launch on "));
  ExpectWorks(context);
}

TEST_P(DeviceErrorsTest, Preparing) {
  device_->Inject(Fault::kLoadModule, 1);
  EXPECT_THAT(std::string(PrepareOn(device_, AddScale()).status().message()),
              HasSubstr("kernel 'scale': injected fault: loading of a module"));
  Plan plan = AddScale();
  plan.functions[1] = "conv";
  EXPECT_THAT(std::string(PrepareOn(device_, plan).status().message()), HasSubstr("kernel 'conv'"));
  plan = AddScale();
  plan.constants = {{0, DType::kF32, {2}, 0, 8}};
  plan.inputs[0] = kNoValue;
  const std::string bytes(8, '\0');
  device_->Inject(Fault::kAllocate);
  EXPECT_THAT(std::string(PrepareOn(device_, plan, bytes).status().message()),
              HasSubstr("the plan's constants take 256 bytes on "));
  device_->Inject(Fault::kCopy);
  EXPECT_FALSE(PrepareOn(device_, plan, bytes).ok());
}

TEST_P(DeviceErrorsTest, OutOfMemorySaysWhatTakesIt) {
  if (device_->kind() == Kind::kCuda) GTEST_SKIP() << "its memory has another size";
  const auto small = Make(GetParam(), 3000);
  {
    ExecutionContext context(*PrepareOn(small, AddScale()));
    const std::vector<float> values(300);
    const auto outputs = context.Run({Vector(values), Vector(values)}, {300});
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
    const std::string text(outputs.status().message());
    EXPECT_THAT(text, HasSubstr("out of memory: 1.2 KiB were asked for"));
    EXPECT_THAT(text, HasSubstr("temporaries 1.2 KiB"));
    EXPECT_THAT(text, HasSubstr("its largest values: 1.2 KiB f32[300] of node '"));
    const auto fits = context.Run({Vector({1, 2}), Vector({3, 4})}, {2});
    EXPECT_TRUE(fits.ok()) << fits.status();
  }
  EXPECT_EQ(small->counters().bytes, 0);
}

// y = x[index], an error for an index that is none.
Plan Gather() {
  Plan plan;
  plan.num_values = 5;
  plan.num_registers = 1;
  plan.inputs = {0, 1};
  plan.outputs = {4};
  plan.functions = {"gather", "scale"};
  const Operand n = Operand::Imm(2);
  plan::DeviceLaunch gather = LaunchOf(0, {4, 2, 3}, {n, Operand::Imm(4)}, "node 'g' (Gather)");
  gather.reports_errors = true;
  plan::DeviceLaunch other = gather;
  other.name = "node 'h' (Gather)";
  plan.body.instructions = {plan::Transfer{2, 0, Space::kDevice}, plan::Transfer{3, 1, Space::kDevice},
                            plan::Allocate{4, DType::kF32, {n}, plan::kFreshSlot, 0, kNoValue, Space::kDevice}, other,
                            gather};
  // The first one's indices are always right.
  std::get<plan::DeviceLaunch>(plan.body.instructions[3]).grid[0] = Operand::Imm(0);
  return plan;
}

TEST_P(DeviceErrorsTest, KernelsReportErrors) {
  if (!Computes(*device_)) GTEST_SKIP() << "nothing is computed";
  for (const int recordings : {0, 2}) {
    ExecutionContext context(*PrepareOn(device_, Gather()), nullptr, recordings);
    const auto run = [&](int64_t index) {
      return context.Run({Vector({1, 2, 3, 4}), Tensor::Vector<int64_t>({3, index})});
    };
    for (int i = 0; i < 3; ++i) {
      const auto failed = run(4);
      EXPECT_EQ(failed.status().code(), absl::StatusCode::kOutOfRange);
      EXPECT_EQ(std::string(failed.status().message()), "node 'g' (Gather): an index is out of range");
      const auto good = run(0);
      ASSERT_TRUE(good.ok()) << good.status();
      EXPECT_THAT(Floats((*good)[0]), ElementsAre(4, 1));
    }
  }
}

TEST_P(DeviceErrorsTest, KernelsThatWriteOutside) {
  if (device_->kind() != Kind::kCudaSim) GTEST_SKIP() << "only the simulator sees it";
  Plan plan = Gather();
  plan.functions = {"overrun"};
  plan.body.instructions.pop_back();
  plan.body.instructions.back() = LaunchOf(0, {4}, {Operand::Imm(64)}, "overrun");
  ExecutionContext context(*PrepareOn(device_, plan));
  const auto outputs = context.Run({Vector({1}), Tensor::Vector<int64_t>({0})});
  EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("a kernel wrote outside its memory"));
}

// In checked code also where the neighbour is a value of the same slot.
TEST_P(DeviceErrorsTest, CheckedKernelsThatWriteIntoANeighbour) {
  if (device_->kind() != Kind::kCudaSim) GTEST_SKIP() << "only the simulator sees it";
  const auto run = [&](bool checked, int64_t n) {
    Plan plan;
    plan.num_values = 2;
    plan.outputs = {1};
    plan.slot_bytes = {Operand::Imm(512)};
    plan.functions = {"overrun"};
    const Operand count = Operand::Imm(64);
    plan.body.instructions = {plan::Allocate{0, DType::kF32, {count}, 0, 0, kNoValue, Space::kDevice},
                              plan::Allocate{1, DType::kF32, {count}, 0, 256, kNoValue, Space::kDevice},
                              LaunchOf(0, {0}, {Operand::Imm(n)}, "node 'o' (Pad)")};
    PreparedPlan::Options options;
    options.device = device_;
    options.images = Images(checked);
    ExecutionContext context(*PreparedPlan::Create(plan, nullptr, {}, nullptr, options));
    return std::string(context.Run({}).status().message());
  };
  EXPECT_EQ(run(true, 63), "");
  EXPECT_EQ(run(false, 64), "");
  EXPECT_THAT(run(true, 64), HasSubstr("node 'o' (Pad): "));
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceErrorsTest, testing::Values("null", "cuda-sim", "fake-cuda"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tcc::devices
