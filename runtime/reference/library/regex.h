// A small regular-expression matcher for RegexFullMatch: RE2's common syntax, no backtracking, so that neither a
// pattern nor a text from a model file can cost more than (states * characters) steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tcc::reference {

// Supported: literals, . [] [^] | () (?:) (?P<name>) * + ? {m} {m,} {m,n} with lazy forms, \d \D \w \W \s \S \t \n \r
// \f \v
// \. and other escaped punctuation, ^ $ \A \z \b \B, (?i) at the start. Anything else, and more than 10,000 states, is
// an error.
class Regex {
 public:
  static absl::StatusOr<Regex> Compile(const std::string& pattern);
  // Whether the whole text (UTF-8) matches.
  bool FullMatch(const std::string& text) const;

 private:
  friend class RegexParser;
  struct Range {
    char32_t low, high;
  };
  struct State {
    enum class Kind { kRanges, kSplit, kStart, kEnd, kWord, kNotWord, kMatch } kind = Kind::kMatch;
    bool negated = false;
    std::vector<Range> ranges;
    int next = -1, other = -1;
  };
  std::vector<State> states_;
  int start_ = -1;
  bool ignore_case_ = false;
};

}  // namespace tcc::reference
