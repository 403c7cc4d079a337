// What is remembered of the accesses to a stretch of memory, to find those that race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tcc::sim {

// What one warp of a block did between two synchronisations.
struct Segment {
  uint64_t block;
  uint32_t warp;
  uint32_t clock;        // of the warp, counts its barriers
  uint32_t step;         // of the warp, counts its barriers and __syncwarp
  uint32_t block_clock;  // of the block, counts what it handed to other blocks
};

struct PastAccess {
  uint32_t segment = 0;  // plus one; 0: there was none
  uint16_t thread = 0;   // of the block
  uint16_t atomic = 0;
  uint32_t pc = 0;  // from the start of the module
};

// Of one cell of memory: the last write, the last atomic update, and two of the reads since the write, by different
// threads if there were such: whoever writes next differs from one of them at least.
struct ShadowCell {
  PastAccess write;
  PastAccess update;
  PastAccess reads[2];
};

// Cells are as wide as the narrowest access seen so far: they are split when a narrower one comes.
class RaceShadow {
 public:
  explicit RaceShadow(size_t bytes) : bytes_(bytes) {}

  // Calls visit(cell) for the cells that hold [offset, offset + bytes), until it returns false.
  template <typename Visit>
  void ForEach(size_t offset, size_t bytes, Visit&& visit) {
    size_t narrow = (offset | bytes) & (~(offset | bytes) + 1);
    if (narrow > kWidest) narrow = kWidest;
    if (narrow < width_) Split(narrow);
    for (size_t i = offset / width_, end = (offset + bytes) / width_; i < end; ++i) {
      std::unique_ptr<ShadowCell[]>& page = pages_[i / kPageCells];
      if (!page) page = std::make_unique<ShadowCell[]>(kPageCells);
      if (!visit(page[i % kPageCells])) return;
    }
  }

 private:
  static constexpr size_t kWidest = 16;
  static constexpr size_t kPageCells = 1024;
  void Split(size_t width);

  const size_t bytes_;
  size_t width_ = 2 * kWidest;  // nothing seen yet
  std::vector<std::unique_ptr<ShadowCell[]>> pages_;
};

}  // namespace tcc::sim
