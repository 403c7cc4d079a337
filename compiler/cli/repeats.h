// Where a list repeats itself: the layers of a model in the list of its kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tcc::cli {

// items[first .. first + length) occur `times` (at least 2) times, one after the other.
struct Repeat {
  size_t first = 0, length = 0, times = 0;
  bool operator==(const Repeat&) const = default;
};

// Those that cover most of the list, the shorter ones of what covers the same, in order and without overlap. An item
// that is repeated by itself is no layer: the items of a repeat are not all equal. Quadratic in the number of items;
// of more than 4096 only so many are looked at.
std::vector<Repeat> FindRepeats(const std::vector<std::string>& items);

}  // namespace tcc::cli
