// Candidates in a process of their own: what they compute is looked at, and whatever they do, the others go on.
#include "compiler/autotune/Measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/temp_folder.h"

namespace tcc::compiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kElements = 100;

MeasurerOptions OptionsFor(const std::string& kind, const std::string& arch, double seconds = 60) {
  MeasurerOptions options;
  options.program = TCC_TEST_WORKER;
  options.kind = kind;
  options.archs = {arch};
  options.seconds = seconds;
  return options;
}

MeasureLaunch LaunchOf(const std::string& symbol, const std::vector<int32_t>& buffers) {
  MeasureLaunch launch;
  launch.symbol = symbol;
  launch.grid = {4, 1, 1};
  launch.block = {32, 1, 1};
  launch.buffers = buffers;
  launch.scalars = {kElements};
  return launch;
}

MeasureCandidate CandidateOf(const std::string& symbol, const std::vector<int32_t>& buffers = {0, 1, 2}) {
  MeasureCandidate candidate;
  candidate.images[symbol] = TCC_TEST_KERNELS;
  candidate.launches = {LaunchOf(symbol, buffers)};
  return candidate;
}

class MeasurerTest : public ::testing::Test {
 protected:
  void Start(double seconds = 60) {
    auto started = Measurer::start(OptionsFor("cuda-sim", "sim", seconds));
    ASSERT_TRUE(started.ok()) << started.status();
    measurer_ = *std::move(started);
    const MeasureBuffer vector = {DType::kF32, {kElements}};
    MeasureData data;
    data.inputs = {vector, vector};
    data.outputs = {vector};
    measurer_->begin(data);
    ASSERT_EQ(measurer_->load(0, CandidateOf("add")), absl::OkStatus());
  }
  void ExpectLost(int id, const MeasureCandidate& candidate, const std::string& why) {
    const absl::Status status = measurer_->load(id, candidate);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    // It cannot be timed, the default can.
    EXPECT_FALSE(measurer_->time(id).ok());
    const auto seconds = measurer_->time(0);
    ASSERT_TRUE(seconds.ok()) << seconds.status();
    EXPECT_GE(*seconds, 0);
  }
  std::unique_ptr<Measurer> measurer_;
};

TEST_F(MeasurerTest, SaysWhatMeasures) {
  Start();
  EXPECT_EQ(measurer_->device().arch, "sim");
  EXPECT_TRUE(measurer_->device().isSimulated);
  EXPECT_THAT(measurer_->device().name, HasSubstr("cuda-sim"));
}

TEST_F(MeasurerTest, OtherResultsAreLost) {
  Start();
  ExpectLost(1, CandidateOf("subtract"), "other results than the default's");
  // Also where they were right before: outputs are not those of the candidate that ran last.
  ExpectLost(2, CandidateOf("forget"), "other results than the default's");
  EXPECT_EQ(measurer_->load(3, CandidateOf("add")), absl::OkStatus());
  EXPECT_EQ(measurer_->restarts(), 0);
}

TEST_F(MeasurerTest, InputsAreThereAgainForTheNext) {
  Start();
  EXPECT_EQ(measurer_->load(1, CandidateOf("spoil")), absl::OkStatus());
  EXPECT_EQ(measurer_->load(2, CandidateOf("add")), absl::OkStatus());
}

TEST_F(MeasurerTest, TemporariesAndConstants) {
  Start();
  TempFolder folder;
  const float one = 1;
  WriteFile(folder / "one", std::string(reinterpret_cast<const char*>(&one), sizeof(one)));
  MeasureCandidate candidate;
  candidate.images = {{"halve", TCC_TEST_KERNELS}, {"add_halves", TCC_TEST_KERNELS}};
  candidate.own = {{DType::kU8, {kElements * 4}}, {DType::kF32, {1}, folder / "one"}};
  candidate.launches = {LaunchOf("halve", {1, 3}), LaunchOf("add_halves", {0, 3, 4, 2})};
  EXPECT_EQ(measurer_->load(1, candidate), absl::OkStatus());
  const auto seconds = measurer_->time(1);
  EXPECT_TRUE(seconds.ok()) << seconds.status();
}

TEST_F(MeasurerTest, ACrashLosesOne) {
  Start();
  ExpectLost(1, CandidateOf("crash"), "signal 11");
  EXPECT_EQ(measurer_->restarts(), 1);
  // What came before and what comes later is compared as ever.
  ExpectLost(2, CandidateOf("subtract"), "other results than the default's");
  EXPECT_EQ(measurer_->load(3, CandidateOf("add")), absl::OkStatus());
  EXPECT_EQ(measurer_->restarts(), 1);
}

TEST_F(MeasurerTest, AHangLosesOne) {
  Start(/*seconds=*/2);
  ExpectLost(1, CandidateOf("hang"), "took longer than 2 s");
  EXPECT_EQ(measurer_->restarts(), 1);
}

TEST_F(MeasurerTest, ErrorsOfKernelsLoseThem) {
  Start();
  MeasureCandidate complains = CandidateOf("complain");
  complains.launches[0].reportsErrors = true;
  ExpectLost(1, complains, "reports an error");
  ExpectLost(2, CandidateOf("no_such_kernel"), "no_such_kernel");
  ExpectLost(3, CandidateOf("add", {0, 1, 7}), "no buffer 7");
  MeasureCandidate missing = CandidateOf("add");
  missing.images["add"] = "/nowhere/kernel";
  ExpectLost(4, missing, "/nowhere/kernel");
}

TEST(MeasurerErrors, WhereNothingCanBeMeasured) {
  const auto other_code = Measurer::start(OptionsFor("cuda-sim", "sm_90a"));
  ASSERT_FALSE(other_code.ok());
  EXPECT_THAT(std::string(other_code.status().message()),
              AllOf(HasSubstr("cuda-sim"), HasSubstr("does not run code for sm_90a")));
  MeasurerOptions no_program = OptionsFor("cuda-sim", "sim");
  no_program.program = "/nowhere/tcc-worker";
  const auto missing = Measurer::start(no_program);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/nowhere/tcc-worker"));
}

}  // namespace
}  // namespace tcc::compiler
