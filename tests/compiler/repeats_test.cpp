#include "compiler/cli/repeats.h"

#include <gtest/gtest.h>

namespace tcc::cli {
namespace {

std::vector<std::string> Items(const std::string& letters) {
  std::vector<std::string> items;
  for (const char letter : letters) items.emplace_back(1, letter);
  return items;
}

TEST(Repeats, NoneInWhatVaries) {
  EXPECT_TRUE(FindRepeats({}).empty());
  EXPECT_TRUE(FindRepeats(Items("abcd")).empty());
  EXPECT_TRUE(FindRepeats(Items("aaaa")).empty());
}

TEST(Repeats, Layers) {
  EXPECT_EQ(FindRepeats(Items("xyabcabcabcz")), (std::vector<Repeat>{{2, 3, 3}}));
  // The first of what could begin in several places.
  EXPECT_EQ(FindRepeats(Items("abcabca")), (std::vector<Repeat>{{0, 3, 2}}));
  // A layer that holds a repeat.
  EXPECT_EQ(FindRepeats(Items("ababcababc")), (std::vector<Repeat>{{0, 5, 2}}));
}

TEST(Repeats, Several) {
  EXPECT_EQ(FindRepeats(Items("ababxcdecdecdeyfgfg")), (std::vector<Repeat>{{0, 2, 2}, {5, 3, 3}, {15, 2, 2}}));
}

}  // namespace
}  // namespace tcc::cli
