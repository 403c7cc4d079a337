//===- Choose.cpp - the fastest of several candidates ---------------------===//
#include "compiler/autotune/Choose.h"

#include <algorithm>
#include <limits>

namespace tcc::compiler {

Choice chooseFastest(int candidates, const std::function<double(int)> &measure, const std::function<double()> &now,
                     const ChooseOptions &options) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Choice choice;
  choice.seconds.assign(static_cast<size_t>(candidates), kNone);
  std::vector<int> running;
  for (int i = 0; i < candidates; ++i)
    running.push_back(i);
  auto secondsOf = [&](int i) -> double & { return choice.seconds[static_cast<size_t>(i)]; };
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
    for (int i : running) {
      double sample = measure(i);
      secondsOf(i) = sample < 0 ? -1 : std::min(secondsOf(i), sample);
    }
    double limit = round + 1 >= options.minRounds ? fastest() * options.hopeless : kNone;
    running.erase(
        std::remove_if(running.begin(), running.end(), [&](int i) { return secondsOf(i) < 0 || secondsOf(i) > limit; }),
        running.end());
    std::reverse(running.begin(), running.end());
  }

  const double best = fastest();
  for (int i = candidates; i-- > 0;)
    if (secondsOf(i) == best && best != kNone)
      choice.winner = i;
  if (candidates > 0 && secondsOf(0) >= 0 && secondsOf(0) != kNone && best > secondsOf(0) * (1 - options.margin))
    choice.winner = 0;
  for (double &seconds : choice.seconds)
    if (seconds == kNone)
      seconds = -1;
  return choice;
}

} // namespace tcc::compiler
