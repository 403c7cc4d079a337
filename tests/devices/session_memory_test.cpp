// What a session holds on its device, in the modes that record: calls of all extents and specialisations share it.
#include <thread>

#include "tests/devices/session_test_util.h"

namespace tcc::devices {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// (Read once a process.)
[[maybe_unused]] const int logs = ::setenv("TCC_LOGS", "perf_hints", 1);

class SessionMemory : public DeviceSession, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    device_ = *DeviceFor(GetParam());
    before_ = Alive(*device_);
  }
  void TearDown() override { EXPECT_EQ(Alive(*device_), before_); }
  void ExpectRuns(const Call& call, size_t n, float a = 1, float b = 3) const {
    const auto outputs = call({Vector(std::vector<float>(n, a)), Vector(std::vector<float>(n, b))}, {});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_EQ(Floats((*outputs)[0]), std::vector<float>(n, 3 * (a + b)));
  }
  int64_t Held() const { return device_->counters().bytes - before_[1]; }

  std::shared_ptr<ComputeDevice> device_;
  std::vector<int64_t> before_;
};

// Two specialisations, of small and of large extents.
std::vector<Specialisation> Two(Specialisation small) {
  Specialisation large = small;
  small.signature.symbols[0].max = 50;
  large.signature.symbols[0].min = 51;
  return {small, large};
}

TEST_P(SessionMemory, IsThatOfTheLargestCall) {
  const std::string path = Write(Two(Of(GetParam(), AddScale())));
  const Call call = Open(path, GetParam(), true, Mode::kReduceOverhead);
  for (int i = 0; i < 3; ++i) ExpectRuns(call, 128);
  const int64_t largest = Held();
  EXPECT_GT(largest, 0);
  EXPECT_EQ(device_->counters().graphs - before_[5], 1);
  for (int round = 0; round < 3; ++round) {
    for (const size_t n : {3, 128, 50, 51, 100, 7}) ExpectRuns(call, n, static_cast<float>(n));
  }
  EXPECT_EQ(Held(), largest);
  // Each of them replays a graph of its own.
  EXPECT_EQ(device_->counters().graphs - before_[5], 6);
  const int64_t graphs = device_->counters().graph_launches;
  for (const size_t n : {3, 128, 50, 51, 100, 7}) ExpectRuns(call, n);
  EXPECT_EQ(device_->counters().graph_launches, graphs + 6);
}

// Constants are on the device once.
TEST_P(SessionMemory, ConstantsAreShared) {
  static const std::vector<float> constant(32, 1);
  std::vector<Specialisation> two = Two(Of(GetParam(), AddScale()));
  for (Specialisation& one : two) {
    one.plan.constants = {{1, DType::kF32, {32}, 0, 128}};
    one.plan.inputs[1] = kNoValue;
    one.constants = {{0, {reinterpret_cast<const char*>(constant.data()), 128}}};
    one.constants_bytes = 128;
  }
  two[0].signature.symbols[0].max = 2;
  two[1].signature.symbols[0] = {"n", 3, 32, 1};
  const Call call = Open(Write(two), GetParam(), true, Mode::kReduceOverhead);
  ExpectRuns(call, 32, 4, 1);
  const int64_t held = Held();
  ExpectRuns(call, 2, 4, 1);
  EXPECT_EQ(Held(), held);
  // Those of another package are others, whatever is at their place.
  const Call other = Open(Write(two, "other.tcc"), GetParam(), true);
  ExpectRuns(other, 32, 5, 1);
  EXPECT_GT(Held(), held);
}

// Slots that grow move: recordings with the old address are made anew, and values that stay from call to call, too.
TEST_P(SessionMemory, MayMove) {
  for (const Mode mode : {Mode::kDefault, Mode::kReduceOverhead}) {
    // A specialisation whose sizes are numbers: its values are static.
    Plan fixed = AddScale();
    fixed.slot_bytes = {Operand::Imm(16)};
    for (Instruction& instruction : fixed.body.instructions) {
      if (auto* i = std::get_if<plan::Allocate>(&instruction)) i->dims = {Operand::Imm(4)};
    }
    Specialisation small = Of(GetParam(), fixed), large = Of(GetParam(), AddScale());
    small.signature.symbols[0] = {"n", 4, 4, 1};
    // (On the simulator by kernels that report their accesses: memory that has gone would do for the numbers.)
    const std::vector<KernelImageView> checked = Images(/*checked=*/true);
    for (Specialisation* one : {&small, &large}) {
      for (size_t i = 0; i < checked.size(); ++i) one->images[i].binaries["sim"] = checked[i].binaries.at("sim");
    }
    const Call call = Open(Write({small, large}), GetParam(), true, mode);
    for (const size_t n : {4, 4, 4, 5, 4, 60, 4, 4, 128, 60, 4, 128, 4}) ExpectRuns(call, n, static_cast<float>(n), 1);
    EXPECT_LT(Held(), 8 * 512 + 2048);
  }
}

// Outputs are the caller's for as long as he likes, on the host and on the device.
TEST_P(SessionMemory, OutputsStayAsTheyAre) {
  for (const bool on_device : {false, true}) {
    std::vector<Tensor> kept;  // longer than the model
    const Call call = Open(Write({Of(GetParam(), AddScale())}), GetParam(), true, Mode::kReduceOverhead);
    RunOptions options;
    options.outputs_on_device = on_device;
    for (int i = 0; i < 6; ++i) {
      const auto outputs = call({Vector({1, 2}), Vector(std::vector<float>(2, static_cast<float>(i)))}, options);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].device(), on_device ? device_->id() : Device{});
      kept.push_back((*outputs)[0]);
    }
    const Call other = Open(Write({Of(GetParam(), AddScale())}, "other.tcc"), GetParam(), true);
    for (size_t i = 0; i < kept.size(); ++i) {
      // (Read by way of a model where they are on the device.)
      const auto read = on_device ? other({kept[i], Vector({0, 0})}, {}) : std::vector<Tensor>{kept[i]};
      ASSERT_TRUE(read.ok()) << read.status();
      const float sum = 3 * (1 + static_cast<float>(i)), factor = on_device ? 3 : 1;
      if (Computes(*device_)) EXPECT_THAT(Floats((*read)[0]), ElementsAre(sum * factor, (sum + 3) * factor));
    }
  }
}

// Calls at the same time each have memory of their own.
TEST_P(SessionMemory, Threads) {
  const Call call = Open(Write(Two(Of(GetParam(), AddScale()))), GetParam(), true, Mode::kReduceOverhead);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 25; ++i) ExpectRuns(call, 1 + (i * 37 + t * 11) % 128, static_cast<float>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// How many extents are recorded, which are dropped, and why calls are not recorded any more.
TEST_P(SessionMemory, LogsTellWhatIsRecorded) {
  const Call call = Open(Write({Of(GetParam(), AddScale())}), GetParam(), true, Mode::kReduceOverhead);
  const auto logged = [&](const std::function<void()>& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  };
  ExpectRuns(call, 128);
  EXPECT_THAT(logged([&] { ExpectRuns(call, 128); }),
              HasSubstr("[tcc perf_hints] 2 of 2 launches are started as 1 graph\n"));
  // Eight are kept.
  EXPECT_EQ(logged([&] {
              for (const size_t n : {1, 2, 3, 4, 5, 6, 7}) ExpectRuns(call, n);
            }),
            "");
  EXPECT_THAT(logged([&] { ExpectRuns(call, 8); }),
              HasSubstr("a recording is dropped for that of f32[8], f32[8]: 8 are kept, the last used ones"));
  // Extents that do not come back are not recorded for ever.
  const std::string text = logged([&] {
    for (size_t n = 9; n < 120; ++n) ExpectRuns(call, n);
  });
  EXPECT_THAT(text, HasSubstr("calls are not recorded: of the last ones too few came back with extents that were"));
  EXPECT_LT(device_->counters().graphs - before_[5], 9);
  const Tensor backwards = Vector({1, 2}).View({2}, {-1}, 1);
  EXPECT_THAT(logged([&] { EXPECT_TRUE(call({backwards, backwards}, {}).ok()); }),
              HasSubstr("calls are not recorded: an input is not row-major"));
}

TEST_P(SessionMemory, LogsTellWhatMoved) {
  const Call call = Open(Write({Of(GetParam(), AddScale())}), GetParam(), true, Mode::kReduceOverhead);
  testing::internal::CaptureStderr();
  for (const size_t n : {2, 3, 128, 2}) ExpectRuns(call, n);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("1 of the recordings are dropped"), HasSubstr("has moved it")));
}

// What the host decides in between keeps launches apart; the log says so.
TEST_P(SessionMemory, LogsTellWhatIsInTheWay) {
  Plan plan = AddScale();
  plan.num_values = 9;
  // Twice as before, and in between a branch on a value of the host.
  std::vector<Instruction>& code = plan.body.instructions;
  code.pop_back();
  const Operand n = Operand::Reg(0);
  code.push_back(plan::MakeTensor{7, DType::kBool, {}, {Operand::Imm(1)}});
  Block then;
  then.instructions = {LaunchOf(1, {5, 4}, {n, Operand::Imm(3)}, "node 'm' (Mul)")};
  code.push_back(plan::If{7, {then, Block()}});
  code.push_back(LaunchOf(1, {5, 4}, {n, Operand::Imm(3)}, "node 'm' (Mul)"));
  code.push_back(LaunchOf(1, {5, 4}, {n, Operand::Imm(3)}, "node 'm' (Mul)"));
  code.push_back(plan::Transfer{6, 5, Space::kHost});
  const Call call = Open(Write({Of(GetParam(), plan)}), GetParam(), true, Mode::kReduceOverhead);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) ExpectRuns(call, 4);
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("4 of 4 launches are started as 2 graphs; the host works in between: a branch decided on the host"));
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionMemory, testing::Values("null", "cuda-sim", "cuda:0"), [](const auto& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
  return name;
});

}  // namespace
}  // namespace tcc::devices
