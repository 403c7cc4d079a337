//===- Choose.cpp - the fastest of several candidates ---------------------===//
#include "compiler/autotune/Choose.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tcc::compiler {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

/// Whether candidate `a` was faster than `b` in most of the rounds that measured both.
bool winsMostRounds(const std::vector<double> &a, const std::vector<double> &b) {
  size_t rounds = std::min(a.size(), b.size()), wins = 0;
  for (size_t i = 0; i < rounds; ++i)
    wins += a[i] < b[i];
  return 2 * wins > rounds;
}

} // namespace

Choice chooseFastest(int candidates, const std::function<double(int)> &measure, const std::function<double()> &now,
                     const ChooseOptions &options) {
  Choice choice;
  choice.seconds.assign(static_cast<size_t>(candidates), kNone);
  std::vector<std::vector<double>> samples(choice.seconds.size()); // by candidate and round, up to its last
  std::vector<size_t> running(choice.seconds.size());
  std::iota(running.begin(), running.end(), size_t{0});
  auto fastest = [&] {
    double best = kNone;
    for (double seconds : choice.seconds)
      if (seconds >= 0)
        best = std::min(best, seconds);
    return best;
  };

  const double start = now();
  for (int round = 0; round < options.maxRounds && running.size() > 1; ++round) {
    if (round > 0 && now() - start > options.seconds)
      break;
    for (size_t i : running) {
      double sample = measure(static_cast<int>(i));
      samples[i].push_back(sample);
      choice.seconds[i] = sample < 0 ? -1 : std::min(choice.seconds[i], sample);
    }
    double limit = round + 1 >= options.minRounds ? fastest() * options.hopeless : kNone;
    std::erase_if(running, [&](size_t i) { return choice.seconds[i] < 0 || choice.seconds[i] > limit; });
    std::reverse(running.begin(), running.end());
  }

  for (double &seconds : choice.seconds)
    if (seconds == kNone)
      seconds = -1;
  double best = candidates > 0 && choice.seconds[0] >= 0 ? choice.seconds[0] * (1 - options.margin) : kNone;
  for (size_t i = 1; i < choice.seconds.size(); ++i) {
    const double seconds = choice.seconds[i];
    if (seconds < 0 || seconds > best || (seconds == best && choice.winner != 0))
      continue;
    if (choice.seconds[0] >= 0 && !winsMostRounds(samples[i], samples[0]))
      continue;
    best = seconds;
    choice.winner = static_cast<int>(i);
  }
  return choice;
}

} // namespace tcc::compiler
