// Choosing among candidates with made-up times, and what is kept on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "compiler/autotune/Choose.h"
#include "compiler/autotune/TuningStore.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::compiler {
namespace {

using ::testing::ElementsAre;

// Candidates with times from a table, on a clock that only they advance.
struct FakeMachine {
  std::vector<double> seconds;
  double time = 0;
  double slowdown = 0;  // the machine gets slower by this share with each sample
  std::vector<int> order = {};

  Choice Run(const ChooseOptions& options = {}) {
    return chooseFastest(
        static_cast<int>(seconds.size()),
        [&](int i) {
          order.push_back(i);
          const double sample = seconds[static_cast<size_t>(i)];
          if (sample < 0) return sample;
          const double now = sample * (1 + slowdown * static_cast<double>(order.size()));
          time += now;
          return now;
        },
        [&] { return time; }, options);
  }
};

TEST(Choose, TheFastestWins) {
  FakeMachine machine{{5e-3, 4e-3, 3e-3, 6e-3}};
  const Choice choice = machine.Run();
  EXPECT_EQ(choice.winner, 2);
  EXPECT_THAT(choice.seconds, ElementsAre(5e-3, 4e-3, 3e-3, 6e-3));
}

TEST(Choose, TheDefaultStaysUnlessOthersAreClearlyFaster) {
  EXPECT_EQ((FakeMachine{{1.00e-3, 0.99e-3}}.Run().winner), 0);
  EXPECT_EQ((FakeMachine{{1.00e-3, 0.90e-3}}.Run().winner), 1);
}

// One lucky sample is no reason: the other one must be faster in most rounds.
TEST(Choose, OneSampleDoesNotDecide) {
  std::vector<int> calls = {0, 0};
  double time = 0;
  const auto lucky_once = [&](int i) {
    const double sample = i == 1 && calls[1]++ == 2 ? 0.5e-3 : i == 1 ? 1.1e-3 : 1.0e-3;
    time += sample;
    return sample;
  };
  EXPECT_EQ(chooseFastest(2, lucky_once, [&] { return time; }).winner, 0);
}

TEST(Choose, FailuresDropOut) {
  FakeMachine machine{{5e-3, -1, 4e-3}};
  const Choice choice = machine.Run();
  EXPECT_EQ(choice.winner, 2);
  EXPECT_EQ(choice.seconds[1], -1);
  EXPECT_EQ(std::count(machine.order.begin(), machine.order.end(), 1), 1);
  // The default may fail, too.
  EXPECT_EQ((FakeMachine{{-1, 2e-3, 1e-3}}.Run().winner), 2);
  EXPECT_EQ((FakeMachine{{-1, -1}}.Run().winner), 0);
}

TEST(Choose, NothingToChooseFromIsTheDefault) {
  EXPECT_EQ((FakeMachine{{1e-3}}.Run().winner), 0);
  EXPECT_EQ(FakeMachine{}.Run().winner, 0);
}

TEST(Choose, RoundsAlternateAndHopelessOnesStop) {
  ChooseOptions options;
  options.minRounds = 2;
  options.maxRounds = 4;
  FakeMachine machine{{1.0e-3, 1.1e-3, 9e-3}};
  machine.Run(options);
  EXPECT_THAT(machine.order, ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 1, 0));
}

TEST(Choose, AMachineThatSlowsDownFavoursNone) {
  // The later of two equal candidates must not lose by its place in the round, nor the earlier win by it.
  FakeMachine machine{{1.0e-3, 0.9e-3}};
  machine.slowdown = 0.02;
  EXPECT_EQ(machine.Run().winner, 1);
}

TEST(Choose, TheBudgetEndsIt) {
  ChooseOptions options;
  options.seconds = 10;
  options.maxRounds = 1000;
  FakeMachine machine{{2.0, 2.1}};
  machine.Run(options);
  EXPECT_EQ(machine.order.size(), 6u);  // a round takes 4.1 s: the third begins at 8.2 s
  // The first round is always finished.
  options.seconds = 0;
  FakeMachine slow{{2.0, 1.0}};
  EXPECT_EQ(slow.Run(options).winner, 1);
  EXPECT_EQ(slow.order.size(), 2u);
}

TuningRecord Record() { return {{{{}, 2e-3}, {{16, 14, 2, 3, 4, 256}, 1e-3}, {{16, 9, 3, 3, 4, 256}, -1}}, 1}; }

TEST(TuningStore, KeepsWhatWasAdded) {
  TempFolder folder;
  const std::string key = "tcc 1\nkernel\n";
  TuningStore(folder.path()).add(key, Record());
  // Another process.
  const TuningStore store(folder.path());
  EXPECT_EQ(store.find(key), Record());
  EXPECT_EQ(store.find("tcc 2\nkernel\n"), std::nullopt);
  TuningRecord changed = Record();
  changed.winner = 0;
  store.add(key, changed);
  EXPECT_EQ(store.find(key), changed);
}

TEST(TuningStore, DamagedFilesAreNotThere) {
  TempFolder folder;
  const TuningStore store(folder.path());
  const std::string key = "key";
  store.add(key, Record());
  const std::string text = ReadFile(store.pathOf(key));
  ASSERT_FALSE(text.empty());
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), std::string("[]"), std::string("null"),
        std::string(R"({"key": "key"})"), std::string(R"({"key": 5})"),
        std::string(R"({"key": "key", "winner": 7, "candidates": []})"),
        std::string(R"({"key": "key", "winner": -1, "candidates": [{"parameters": [], "seconds": 1}]})"),
        std::string(R"({"key": "key", "winner": 0, "candidates": [{"parameters": "x", "seconds": 1}]})"),
        std::string(R"({"key": "other", "winner": 0, "candidates": [{"parameters": [], "seconds": 1}]})"),
        std::string("\xff\xfe\0", 3)}) {
    WriteFile(store.pathOf(key), damaged);
    EXPECT_EQ(store.find(key), std::nullopt) << damaged;
  }
  store.add(key, Record());
  EXPECT_EQ(store.find(key), Record());
}

TEST(TuningStore, WithoutAFolderNothingIsKept) {
  const TuningStore none("");
  none.add("key", Record());
  EXPECT_EQ(none.find("key"), std::nullopt);
  // Nor where it cannot be written to.
  const TuningStore missing("/proc/none");
  missing.add("key", Record());
  EXPECT_EQ(missing.find("key"), std::nullopt);
}

}  // namespace
}  // namespace tcc::compiler
