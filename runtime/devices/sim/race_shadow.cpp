#include "runtime/devices/sim/race_shadow.h"

#include <utility>

namespace tcc::sim {

void RaceShadow::Split(size_t width) {
  const size_t parts = width_ / width;
  std::vector<std::unique_ptr<ShadowCell[]>> pages((bytes_ / width + kPageCells) / kPageCells);
  for (size_t p = 0; p < pages_.size(); ++p) {
    if (!pages_[p]) continue;
    for (size_t i = 0; i < kPageCells; ++i) {
      for (size_t part = 0; part < parts; ++part) {
        const size_t cell = (p * kPageCells + i) * parts + part;
        if (cell / kPageCells >= pages.size()) break;
        std::unique_ptr<ShadowCell[]>& page = pages[cell / kPageCells];
        if (!page) page = std::make_unique<ShadowCell[]>(kPageCells);
        page[cell % kPageCells] = pages_[p][i];
      }
    }
  }
  pages_ = std::move(pages);
  width_ = width;
}

}  // namespace tcc::sim
