//===- Choose.h - the fastest of several candidates -------------*- C++ -*-===//
#pragma once

#include <functional>
#include <vector>

namespace tcc::compiler {

struct ChooseOptions {
  int minRounds = 3;
  int maxRounds = 20;
  double seconds = 1.0; ///< no round starts later than this
  /// Out of the race after minRounds: so much slower than the fastest.
  double hopeless = 1.25;
  /// Candidate 0, the default, keeps its place unless another is faster by this share, and in most rounds at all.
  double margin = 0.03;
};

struct Choice {
  int winner = 0;
  std::vector<double> seconds; ///< the fastest sample of each candidate; negative: it failed
};

/// Measures the candidates in rounds, each once a round, forwards and backwards in turn, so that a machine that changes
/// its speed favours none. `measure` gives the seconds of one sample, negative for a failure, which ends that
/// candidate; `now` is a clock in seconds. Candidate 0 is the winner where nothing could be measured.
Choice chooseFastest(int candidates, const std::function<double(int)> &measure, const std::function<double()> &now,
                     const ChooseOptions &options = {});

} // namespace tcc::compiler
