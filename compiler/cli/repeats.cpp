#include "compiler/cli/repeats.h"

#include <algorithm>

namespace tcc::cli {
namespace {

constexpr size_t kMostItems = 4096;

// The best repeat within items[begin, end); `times` is 0 where there is none.
Repeat Best(const std::vector<std::string>& items, size_t begin, size_t end) {
  Repeat best;
  for (size_t length = 2; 2 * length <= end - begin; ++length) {
    // A stretch in which each item is that `length` places further on.
    for (size_t first = begin; first + length < end;) {
      size_t last = first;
      while (last + length < end && items[last] == items[last + length]) ++last;
      const size_t times = (last - first) / length + 1;
      const bool varies = std::any_of(items.begin() + static_cast<ptrdiff_t>(first),
                                      items.begin() + static_cast<ptrdiff_t>(first + length),
                                      [&](const std::string& item) { return item != items[first]; });
      if (times >= 2 && varies && times * length > best.times * best.length) best = {first, length, times};
      first = last + 1;
    }
  }
  return best;
}

void Find(const std::vector<std::string>& items, size_t begin, size_t end, std::vector<Repeat>* repeats) {
  const Repeat best = Best(items, begin, end);
  if (best.times == 0) return;
  Find(items, begin, best.first, repeats);
  repeats->push_back(best);
  Find(items, best.first + best.length * best.times, end, repeats);
}

}  // namespace

std::vector<Repeat> FindRepeats(const std::vector<std::string>& items) {
  std::vector<Repeat> repeats;
  Find(items, 0, std::min(items.size(), kMostItems), &repeats);
  return repeats;
}

}  // namespace tcc::cli
