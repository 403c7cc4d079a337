#include "runtime/reference/library/regex.h"

#include <algorithm>

#include "runtime/status.h"

namespace tcc::reference {
namespace {

constexpr size_t kMaxStates = 10000;
constexpr int kMaxDepth = 200;
constexpr char32_t kMaxCode = 0x10ffff;

// Code points; a byte that is not UTF-8 stands for itself.
std::u32string Decode(const std::string& text) {
  std::u32string codes;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    char32_t code = more == 0 ? byte : byte & (0x3f >> more);
    bool good = i + more < text.size();
    for (int k = 1; good && k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      good = (next & 0xc0) == 0x80;
      code = code << 6 | (next & 0x3f);
    }
    codes.push_back(good ? code : byte);
    i += good ? more + 1 : 1;
  }
  return codes;
}

char32_t Lower(char32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

bool IsWord(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

// Recursive descent; each part is compiled to a fragment whose exit is the state `next` handed in, so a repeated part
// is parsed anew for each copy.
class RegexParser {
 public:
  RegexParser(std::u32string pattern, Regex* regex) : pattern_(std::move(pattern)), regex_(regex) {}

  absl::Status Parse() {
    if (pattern_.substr(0, 4) == U"(?i)") {
      regex_->ignore_case_ = true;
      position_ = 4;
    }
    const int match = Add({});
    TCC_ASSIGN_OR_RETURN(regex_->start_, Alternatives(match, 0));
    if (position_ != pattern_.size()) return Error("unmatched )");
    return too_large_ ? Error("more than 10,000 states") : absl::OkStatus();
  }

 private:
  using State = Regex::State;
  using Kind = State::Kind;

  absl::Status Error(const char* what) const {
    return absl::InvalidArgumentError(absl::StrCat("regular expression: ", what, " at position ", position_));
  }
  bool More() const { return position_ < pattern_.size(); }
  char32_t Peek() const { return pattern_[position_]; }
  int Add(State state) {
    if (regex_->states_.size() >= kMaxStates) {
      too_large_ = true;
      return 0;
    }
    regex_->states_.push_back(std::move(state));
    return static_cast<int>(regex_->states_.size()) - 1;
  }
  int Split(int next, int other) {
    State state;
    state.kind = Kind::kSplit;
    state.next = next;
    state.other = other;
    return Add(std::move(state));
  }

  absl::StatusOr<int> Alternatives(int next, int depth) {
    if (depth > kMaxDepth) return Error("groups nested too deeply");
    TCC_ASSIGN_OR_RETURN(int entry, Sequence(next, depth));
    while (More() && Peek() == '|') {
      ++position_;
      TCC_ASSIGN_OR_RETURN(const int other, Sequence(next, depth));
      entry = Split(entry, other);
    }
    return entry;
  }

  // The parts of a sequence are found from the left but compiled from the right, because each needs its successor.
  absl::StatusOr<int> Sequence(int next, int depth) {
    std::vector<size_t> starts;
    while (More() && Peek() != '|' && Peek() != ')') {
      starts.push_back(position_);
      TCC_RETURN_IF_ERROR(SkipPart());
    }
    const size_t end = position_;
    for (auto it = starts.rbegin(); it != starts.rend(); ++it) {
      position_ = *it;
      TCC_ASSIGN_OR_RETURN(next, Part(next, depth));
      if (too_large_) return Error("more than 10,000 states");
    }
    position_ = end;
    return next;
  }

  // Moves over one atom and its repetition.
  absl::Status SkipPart() {
    TCC_RETURN_IF_ERROR(SkipAtom());
    int least, most;
    TCC_ASSIGN_OR_RETURN(const bool repeated, Repetition(&least, &most));
    (void)repeated;
    return absl::OkStatus();
  }
  absl::Status SkipAtom() {
    const char32_t c = pattern_[position_++];
    if (c == '\\') {
      if (!More()) return Error("\\ at the end");
      ++position_;
    } else if (c == '[') {
      if (More() && Peek() == '^') ++position_;
      if (More() && Peek() == ']') ++position_;
      while (More() && Peek() != ']') position_ += Peek() == '\\' ? 2 : 1;
      if (!More()) return Error("missing ]");
      ++position_;
    } else if (c == '(') {
      int level = 1;
      while (level > 0) {
        if (!More()) return Error("missing )");
        if (Peek() == '[' || Peek() == '\\') {
          TCC_RETURN_IF_ERROR(SkipAtom());
          continue;
        }
        level += Peek() == '(' ? 1 : Peek() == ')' ? -1 : 0;
        ++position_;
      }
    } else if (c == '*' || c == '+' || c == '?') {
      return Error("nothing to repeat");
    }
    return absl::OkStatus();
  }

  // *, +, ?, {m,n}: the bounds, most -1 for none.
  absl::StatusOr<bool> Repetition(int* least, int* most) {
    if (!More()) return false;
    const size_t start = position_;
    const char32_t c = Peek();
    if (c == '*' || c == '+' || c == '?') {
      *least = c == '+' ? 1 : 0;
      *most = c == '?' ? 1 : -1;
      ++position_;
    } else if (c == '{') {
      ++position_;
      const auto number = [&]() {
        int value = -1;
        while (More() && Peek() >= '0' && Peek() <= '9' && value < 100000) {
          value = std::max(value, 0) * 10 + static_cast<int>(pattern_[position_++] - '0');
        }
        return value;
      };
      *least = number();
      *most = *least;
      if (More() && Peek() == ',') {
        ++position_;
        *most = number();
      }
      if (*least < 0 || !More() || Peek() != '}') {  // a literal brace
        position_ = start;
        return false;
      }
      ++position_;
      if (*least > 1000 || *most > 1000 || (*most >= 0 && *most < *least)) return Error("bad repetition");
    } else {
      return false;
    }
    if (More() && Peek() == '?') ++position_;  // lazy: the same for a full match
    if (More() && (Peek() == '*' || Peek() == '+' || Peek() == '?')) return Error("nothing to repeat");
    return true;
  }

  absl::StatusOr<int> Part(int next, int depth) {
    const size_t start = position_;
    TCC_RETURN_IF_ERROR(SkipAtom());
    int least = 1, most = 1;
    TCC_RETURN_IF_ERROR(Repetition(&least, &most).status());
    const size_t end = position_;
    const auto atom = [&](int exit) {
      position_ = start;
      return Atom(exit, depth);
    };
    int entry = next;
    if (most < 0) {
      const int loop = Split(-1, next);
      TCC_ASSIGN_OR_RETURN(const int body, atom(loop));
      if (too_large_) return Error("more than 10,000 states");
      regex_->states_[loop].next = body;
      entry = loop;
    } else {
      for (int i = least; i < most; ++i) {
        TCC_ASSIGN_OR_RETURN(const int body, atom(entry));
        entry = Split(body, next);
        if (too_large_) return Error("more than 10,000 states");
      }
    }
    for (int i = 0; i < least; ++i) {
      TCC_ASSIGN_OR_RETURN(entry, atom(entry));
      if (too_large_) return Error("more than 10,000 states");
    }
    position_ = end;
    return entry;
  }

  absl::StatusOr<int> Atom(int next, int depth) {
    State state;
    state.kind = Kind::kRanges;
    state.next = next;
    const char32_t c = pattern_[position_++];
    if (c == '(') {
      if (pattern_.substr(position_, 2) == U"?:") {
        position_ += 2;
      } else if (pattern_.substr(position_, 3) == U"?P<") {
        while (More() && Peek() != '>') ++position_;
        if (!More()) return Error("bad group name");
        ++position_;
      } else if (More() && Peek() == '?') {
        return Error("unsupported group");
      }
      TCC_ASSIGN_OR_RETURN(const int entry, Alternatives(next, depth + 1));
      if (!More() || Peek() != ')') return Error("missing )");
      ++position_;
      return entry;
    }
    if (c == '^' || c == '$') {
      state.kind = c == '^' ? Kind::kStart : Kind::kEnd;
    } else if (c == '.') {
      state.ranges = {{0, '\n' - 1}, {'\n' + 1, kMaxCode}};
    } else if (c == '[') {
      if (More() && Peek() == '^') {
        state.negated = true;
        ++position_;
      }
      for (bool first = true; More() && (first || Peek() != ']'); first = false) {
        TCC_RETURN_IF_ERROR(ClassItem(&state.ranges));
      }
      if (!More()) return Error("missing ]");
      ++position_;
    } else if (c == '\\') {
      if (!More()) return Error("\\ at the end");
      if (Peek() == 'A' || Peek() == 'z') {
        state.kind = Peek() == 'A' ? Kind::kStart : Kind::kEnd;
        ++position_;
      } else if (Peek() == 'b' || Peek() == 'B') {
        state.kind = Peek() == 'b' ? Kind::kWord : Kind::kNotWord;
        ++position_;
      } else {
        TCC_RETURN_IF_ERROR(Escape(&state.ranges));
      }
    } else {
      state.ranges = {{c, c}};
    }
    return Add(std::move(state));
  }

  absl::Status ClassItem(std::vector<Regex::Range>* ranges) {
    const size_t before = ranges->size();
    if (Peek() == '[' && position_ + 1 < pattern_.size() && pattern_[position_ + 1] == ':') {
      return Error("named classes are not supported");
    }
    if (Peek() == '\\') {
      ++position_;
      if (!More()) return Error("\\ at the end");
      TCC_RETURN_IF_ERROR(Escape(ranges));
    } else {
      ranges->push_back({Peek(), Peek()});
      ++position_;
    }
    const bool single = ranges->size() == before + 1 && ranges->back().low == ranges->back().high;
    if (single && position_ + 1 < pattern_.size() && Peek() == '-' && pattern_[position_ + 1] != ']') {
      ++position_;
      std::vector<Regex::Range> high;
      if (Peek() == '\\') {
        ++position_;
        if (!More()) return Error("\\ at the end");
        TCC_RETURN_IF_ERROR(Escape(&high));
      } else {
        high.push_back({Peek(), Peek()});
        ++position_;
      }
      if (high.size() != 1 || high[0].low < ranges->back().low) return Error("bad range");
      ranges->back().high = high[0].low;
    }
    return absl::OkStatus();
  }

  // The character after a backslash.
  absl::Status Escape(std::vector<Regex::Range>* ranges) {
    const char32_t c = pattern_[position_++];
    const auto add = [&](std::vector<Regex::Range> more) { ranges->insert(ranges->end(), more.begin(), more.end()); };
    switch (c) {
      case 'd':
        add({{'0', '9'}});
        return absl::OkStatus();
      case 'D':
        add({{0, '0' - 1}, {'9' + 1, kMaxCode}});
        return absl::OkStatus();
      case 'w':
        add({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
        return absl::OkStatus();
      case 'W':
        add({{0, '0' - 1}, {'9' + 1, 'A' - 1}, {'Z' + 1, '_' - 1}, {'_' + 1, 'a' - 1}, {'z' + 1, kMaxCode}});
        return absl::OkStatus();
      case 's':
        add({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
        return absl::OkStatus();
      case 'S':
        add({{0, '\t' - 1}, {'\v', '\v'}, {'\r' + 1, ' ' - 1}, {' ' + 1, kMaxCode}});
        return absl::OkStatus();
      default:
        break;
    }
    static constexpr char32_t kNames[] = U"tnrfv", kCodes[] = U"\t\n\r\f\v";
    for (int i = 0; i < 5; ++i) {
      if (c == kNames[i]) {
        add({{kCodes[i], kCodes[i]}});
        return absl::OkStatus();
      }
    }
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Error("unsupported escape");
    add({{c, c}});
    return absl::OkStatus();
  }

  std::u32string pattern_;
  size_t position_ = 0;
  bool too_large_ = false;
  Regex* regex_;
};

absl::StatusOr<Regex> Regex::Compile(const std::string& pattern) {
  if (pattern.size() > 10000) return absl::InvalidArgumentError("regular expression: longer than 10,000 bytes");
  Regex regex;
  RegexParser parser(Decode(pattern), &regex);
  TCC_RETURN_IF_ERROR(parser.Parse());
  return regex;
}

bool Regex::FullMatch(const std::string& text) const {
  const std::u32string codes = Decode(text);
  std::vector<int> now, next, stack;
  std::vector<size_t> seen(states_.size(), 0);  // the position + 1 at which a state was entered last
  const auto enter = [&](int state, size_t position, std::vector<int>* set) {
    stack.push_back(state);
    while (!stack.empty()) {
      const int s = stack.back();
      stack.pop_back();
      if (s < 0 || seen[s] == position + 1) continue;
      seen[s] = position + 1;
      const State& at = states_[s];
      switch (at.kind) {
        case State::Kind::kSplit:
          stack.push_back(at.other);
          stack.push_back(at.next);
          break;
        case State::Kind::kStart:
          if (position == 0) stack.push_back(at.next);
          break;
        case State::Kind::kEnd:
          if (position == codes.size()) stack.push_back(at.next);
          break;
        case State::Kind::kWord:
        case State::Kind::kNotWord: {
          const bool before = position > 0 && IsWord(codes[position - 1]);
          const bool after = position < codes.size() && IsWord(codes[position]);
          if ((before != after) == (at.kind == State::Kind::kWord)) stack.push_back(at.next);
          break;
        }
        default:
          set->push_back(s);
      }
    }
  };
  enter(start_, 0, &now);
  for (size_t i = 0; i < codes.size() && !now.empty(); ++i) {
    next.clear();
    const auto contains = [](const State& state, char32_t c) {
      return std::any_of(state.ranges.begin(), state.ranges.end(),
                         [c](const Range& r) { return r.low <= c && c <= r.high; });
    };
    for (int s : now) {
      const State& state = states_[s];
      if (state.kind != State::Kind::kRanges) continue;
      bool hit = contains(state, codes[i]);
      if (!hit && ignore_case_) {
        const char32_t lower = Lower(codes[i]);
        hit = contains(state, lower) || (lower >= 'a' && lower <= 'z' && contains(state, lower - 32));
      }
      if (hit != state.negated) enter(state.next, i + 1, &next);
    }
    now.swap(next);
  }
  return std::any_of(now.begin(), now.end(), [&](int s) { return states_[s].kind == State::Kind::kMatch; });
}

}  // namespace tcc::reference
