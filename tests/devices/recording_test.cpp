// Recorded plans on a device.
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::ElementsAre;

class DeviceRecordingTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = Make(GetParam()); }
  void TearDown() override {
    EXPECT_EQ(device_->counters().bytes, 0);
    EXPECT_EQ(device_->counters().graphs, 0);
  }
  void ExpectRuns(ExecutionContext& context, const std::vector<float>& a, const std::vector<float>& b) {
    const auto outputs = context.Run({Vector(a), Vector(b)}, {static_cast<int64_t>(a.size())});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (!Computes(*device_)) return;
    std::vector<float> expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) expected[i] = (a[i] + b[i]) * 3;
    EXPECT_EQ(Floats((*outputs)[0]), expected);
  }
  std::shared_ptr<ComputeDevice> device_;
};

// The second replay makes a graph, which takes new inputs and leaves old outputs alone.
TEST_P(DeviceRecordingTest, BecomeGraphs) {
  ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
  ExpectRuns(context, {1, 2}, {3, 4});
  EXPECT_EQ(device_->counters().graphs, 0);
  EXPECT_EQ(device_->counters().launches, 2);
  const auto kept = *context.Run({Vector({1, 2}), Vector({1, 1})}, {2});
  EXPECT_EQ(device_->counters().graphs, 1);
  EXPECT_EQ(device_->counters().graph_launches, 1);
  const int64_t launches = device_->counters().launches;
  ExpectRuns(context, {5, 6}, {7, 8});
  EXPECT_EQ(device_->counters().graph_launches, 2);
  EXPECT_EQ(device_->counters().launches, launches);
  if (Computes(*device_)) EXPECT_THAT(Floats(kept[0]), ElementsAre(6, 9));
  EXPECT_EQ(context.statistics().recorded, 1);
  EXPECT_EQ(context.statistics().replayed, 2);
}

// Each shape has its own; those of a shape that is let go go too, as do those with memory that has moved.
TEST_P(DeviceRecordingTest, Shapes) {
  ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
  for (int round = 0; round < 3; ++round) {
    for (const size_t n : {2, 2, 50, 50, 3, 3}) {
      ExpectRuns(context, std::vector<float>(n, 1.0f), std::vector<float>(n, static_cast<float>(round)));
      EXPECT_LE(device_->counters().graphs, 2);
    }
  }
  EXPECT_GT(device_->counters().graph_launches, 0);
}

TEST_P(DeviceRecordingTest, WithoutGraphs) {
  ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
  ExpectRuns(context, {1}, {2});
  device_->Inject(Fault::kGraph);
  ExpectRuns(context, {2}, {3});
  ExpectRuns(context, {4}, {5});
  EXPECT_EQ(device_->counters().graphs, 0);
  EXPECT_EQ(device_->counters().graph_launches, 0);
}

TEST_P(DeviceRecordingTest, FaultsInGraphs) {
  ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
  ExpectRuns(context, {1}, {2});
  ExpectRuns(context, {1}, {2});
  for (const Fault fault : {Fault::kLaunch, Fault::kCopy, Fault::kSynchronize}) {
    device_->Inject(fault);
    EXPECT_FALSE(context.Run({Vector({1}), Vector({2})}, {1}).ok());
    ExpectRuns(context, {3}, {4});
  }
}

// Times are those of single launches.
TEST_P(DeviceRecordingTest, Profiles) {
  ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
  ExpectRuns(context, {1}, {2});
  ExpectRuns(context, {1}, {2});
  int launches = 0;
  const ProfileHook hook = [&](const ProfileEvent& event) { launches += event.kind == "launch"; };
  RunOptions options;
  options.profile = &hook;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(context.Run({Vector({1}), Vector({2})}, {1}, options, &outputs).ok());
  EXPECT_EQ(launches, 2);
  ExpectRuns(context, {3}, {4});
}

TEST_P(DeviceRecordingTest, InputsOnTheDevice) {
  StreamHandle* const stream = *device_->CreateStream();
  void* const memory = *device_->Allocate(8);
  {
    ExecutionContext context(*PrepareOn(device_, AddScale()), nullptr, 2);
    for (const float x : {1.0f, 2.0f, 3.0f}) {
      const float values[2] = {x, x + 1};
      ASSERT_TRUE(device_->CopyToDevice(memory, values, 8, stream).ok());
      ASSERT_TRUE(device_->Synchronize(stream).ok());
      const Tensor input = Tensor::Wrap(memory, DType::kF32, {2}, {}, nullptr, device_->id());
      const auto outputs = context.Run({input, Vector({1, 1})}, {2});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      if (Computes(*device_)) EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(3 * (x + 1), 3 * (x + 2)));
      ExpectRuns(context, {x, 2}, {3, 4});
    }
    EXPECT_EQ(context.statistics().recorded, 1);
  }
  device_->Free(memory, 8);
  device_->DestroyStream(stream);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRecordingTest, testing::Values("null", "cuda-sim", "fake-cuda"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tcc::devices
