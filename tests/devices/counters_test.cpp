// Kernels whose blocks count how many of them are done: what they find is zero, in whatever way they are started.
#include <thread>

#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::HasSubstr;

constexpr int64_t kParts = 3;

// Sums of three neighbours in inputs 0 of n and, after it, of 1 of 12 elements: y (value 10) and z (11). Input 2: the
// number of the block that fails.
Plan SumParts() {
  Plan plan;
  plan.num_values = 12;
  plan.num_registers = 2;
  plan.inputs = {0, 1, 2};
  plan.outputs = {10, 11};
  plan.symbol_registers = {0};
  plan.functions = {"sum_parts"};
  plan.slot_bytes = {Operand::Imm(1 << 20)};
  const auto in_slot = [](ValueId value, Operand n, int64_t offset) {
    return plan::Allocate{value, DType::kF32, {n}, 0, offset, kNoValue, Space::kDevice};
  };
  const auto launch = [](ValueId out, ValueId in, Operand blocks, Operand counters, const char* name) {
    plan::DeviceLaunch sum = LaunchOf(0, {out, 8, in, 5}, {Operand::Imm(kParts)}, name);
    sum.grid[0] = blocks;
    sum.counters = counters;
    sum.reports_errors = true;
    return sum;
  };
  const Operand n = Operand::Reg(0), sums = Operand::Reg(1), few = Operand::Imm(12), four = Operand::Imm(4);
  plan.body.instructions = {plan::Compute{1, IntOp::kFloorDiv, n, Operand::Imm(kParts)},
                            plan::Transfer{3, 0, Space::kDevice},
                            plan::Transfer{4, 1, Space::kDevice},
                            plan::Transfer{5, 2, Space::kDevice},
                            in_slot(6, sums, 0),
                            in_slot(7, four, 1 << 18),
                            in_slot(8, n, 1 << 19),
                            launch(7, 4, few, four, "node 'z' (Sum)"),
                            launch(6, 3, n, sums, "node 'y' (Sum)"),
                            plan::Transfer{10, 6, Space::kHost},
                            plan::Transfer{11, 7, Space::kHost}};
  return plan;
}

class CountersTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = Make(GetParam()); }
  void TearDown() override {
    EXPECT_EQ(device_->counters().bytes, 0);
    EXPECT_EQ(device_->counters().graphs, 0);
  }
  static std::vector<float> Sequence(int64_t n, float first) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = first++;
    return values;
  }
  static std::vector<float> SumsOf(const std::vector<float>& in) {
    std::vector<float> sums;
    for (size_t i = 0; i < in.size(); i += 3) sums.push_back(in[i] + in[i + 1] + in[i + 2]);
    return sums;
  }
  static absl::StatusOr<std::vector<Tensor>> Run(ExecutionContext& context, int64_t n, float first,
                                                 int64_t missing = -1) {
    return context.Run({Vector(Sequence(n, first)), Vector(Sequence(12, -first)), Tensor::Vector<int64_t>({missing})},
                       {n});
  }
  void ExpectSums(ExecutionContext& context, int64_t n, float first) {
    const auto outputs = Run(context, n, first);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (!Computes(*device_)) return;
    EXPECT_EQ(Floats((*outputs)[0]), SumsOf(Sequence(n, first)));
    EXPECT_EQ(Floats((*outputs)[1]), SumsOf(Sequence(12, -first)));
  }
  std::shared_ptr<ComputeDevice> device_;
};

// Also where a later call needs more counters than there are, and recordings know the old ones.
TEST_P(CountersTest, CallsOfAnyExtents) {
  const auto plan = *PrepareOn(device_, SumParts());
  for (const int recordings : {0, 4}) {
    ExecutionContext context(plan, nullptr, recordings);
    for (const int64_t n : {6, 6, 6, 3000, 6, 9000, 6, 3000, 9000, 6, 0, 6})
      ExpectSums(context, n, static_cast<float>(n));
  }
}

TEST_P(CountersTest, AreNotSharedByCallsAtATime) {
  const auto plan = *PrepareOn(device_, SumParts());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ExecutionContext context(plan, nullptr, t % 2 * 2);
      for (int i = 0; i < 10; ++i) ExpectSums(context, 600, static_cast<float>(100 * t + i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A kernel that fails leaves them anyhow.
TEST_P(CountersTest, AreZeroAgainAfterAnErrorOfAKernel) {
  if (!Computes(*device_)) GTEST_SKIP() << "nothing is computed";
  const auto plan = *PrepareOn(device_, SumParts());
  for (const int recordings : {0, 2}) {
    ExecutionContext context(plan, nullptr, recordings);
    for (int i = 0; i < 4; ++i) {
      const auto failed = Run(context, 6, 1, 1);
      ASSERT_FALSE(failed.ok());
      EXPECT_THAT(std::string(failed.status().message()), HasSubstr("node 'z' (Sum): an index is out of range"));
      ExpectSums(context, 6, 1);
    }
  }
}

TEST_P(CountersTest, AreZeroAgainAfterEveryFault) {
  const auto plan = *PrepareOn(device_, SumParts());
  for (const int recordings : {0, 2}) {
    for (const Fault fault : {Fault::kAllocate, Fault::kCopy, Fault::kLaunch, Fault::kSynchronize}) {
      for (int64_t skip = 0; skip < 10; ++skip) {
        ExecutionContext context(plan, nullptr, recordings);
        for (const bool warm : {false, true}) {
          device_->Inject(fault, skip);
          (void)Run(context, warm ? 3300 : 6, 2);
          device_->Inject(fault, -1);
          ExpectSums(context, 3300, 2);
        }
      }
    }
  }
}

// Where there is no memory for them, it is the launch's error.
TEST_P(CountersTest, AreNamedWhereThereIsNoMemory) {
  const auto plan = *PrepareOn(device_, SumParts());
  std::string errors;
  for (int64_t skip = 0; skip < 10; ++skip) {
    ExecutionContext context(plan);
    device_->Inject(Fault::kAllocate, skip);
    errors += std::string(Run(context, 6, 1).status().message()) + "\n";
    device_->Inject(Fault::kAllocate, -1);
  }
  EXPECT_THAT(errors, HasSubstr("node 'z' (Sum): injected fault"));
}

INSTANTIATE_TEST_SUITE_P(Devices, CountersTest, testing::Values("null", "cuda-sim", "fake-cuda"), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace tcc::devices
