//===- Tiles.cpp ----------------------------------------------------------===//
#include "codegen/cuda/gemm/Tiles.h"

#include <algorithm>
#include <vector>

#include "llvm/Support/MathExtras.h"

namespace tcc::codegen::cuda {
namespace {

struct Candidate {
  GemmTiles tiles;
  double rate; ///< of the largest tile, when there is enough to do
};

// Rates: shared memory traffic grows as 1/m + 1/n. To be replaced by measurement where a GPU is at hand.
const std::vector<Candidate> &candidates(int64_t elementBytes) {
  static const std::vector<Candidate> half = {
      {{true, 128, 128, 32, 4, 2, 2}, 1.0}, {{true, 128, 64, 32, 4, 2, 2}, 0.8}, {{true, 64, 128, 32, 4, 2, 2}, 0.8},
      {{true, 64, 64, 64, 3, 2, 2}, 0.65},  {{true, 32, 64, 64, 4, 2, 2}, 0.4},  {{true, 16, 64, 64, 4, 1, 4}, 0.22}};
  static const std::vector<Candidate> single = {{{false, 128, 128, 16, 3, 8, 8}, 1.0},
                                                {{false, 64, 128, 16, 3, 4, 8}, 0.85},
                                                {{false, 64, 64, 16, 4, 4, 8}, 0.8},
                                                {{false, 32, 64, 32, 3, 4, 4}, 0.5},
                                                {{false, 16, 64, 32, 3, 4, 4}, 0.3}};
  static const std::vector<Candidate> twice = {
      {{false, 64, 64, 8, 3, 4, 4}, 1.0}, {{false, 32, 32, 16, 3, 4, 4}, 0.6}, {{false, 16, 32, 16, 3, 4, 4}, 0.35}};
  return elementBytes == 2 ? half : elementBytes == 4 ? single : twice;
}

} // namespace

int64_t GemmTiles::sharedBytes(int64_t elementBytes, int64_t sumBytes) const {
  int64_t tiles = int64_t(m + n) * depth * stages * elementBytes;
  int64_t slice = int64_t(mma ? 16 : 4) * (warpN() + 8) * (threads() / 32) * sumBytes;
  return std::max(tiles, slice);
}

std::string GemmTiles::text() const {
  std::string list;
  for (int value : {m, n, depth, stages, a, b})
    list += (list.empty() ? "" : ", ") + std::to_string(value);
  return std::string(mma ? "Mma<" : "Simt<") + list + ">";
}

GemmChoice chooseTiles(const GemmShape &shape, int64_t elementBytes, const CudaDescription &device) {
  // What is not known is taken to be of a middling size.
  constexpr int64_t kUnknown = 1024;
  int64_t batch = shape.batch.value_or(1), m = shape.m.value_or(kUnknown), n = shape.n.value_or(kUnknown);
  GemmChoice best;
  double bestCost = 0;
  for (const Candidate &candidate : candidates(elementBytes)) {
    const GemmTiles &tiles = candidate.tiles;
    if (tiles.sharedBytes(elementBytes, std::max<int64_t>(4, elementBytes)) > device.sharedPerBlockOptIn)
      continue;
    int64_t count = std::max<int64_t>(1, batch * llvm::divideCeil(m, tiles.m) * llvm::divideCeil(n, tiles.n));
    // Parts of k on the multiprocessors that would have nothing to do, each long enough to be worth a start.
    int splits = 1;
    if (shape.batch && shape.m && shape.n && shape.k) {
      constexpr int64_t kLeastSteps = 8;
      int64_t most = *shape.k / (tiles.depth * kLeastSteps);
      splits =
          static_cast<int>(std::clamp<int64_t>(device.multiprocessors / count, 1, std::clamp<int64_t>(most, 1, 32)));
      if (splits < 2)
        splits = 1;
    }
    double waves = static_cast<double>(llvm::divideCeil(count * splits, device.multiprocessors));
    double cost = waves * tiles.m * tiles.n / candidate.rate / splits * (splits > 1 ? 1.15 : 1);
    if (best.tiles.m == 0 || cost < bestCost) {
      bestCost = cost;
      best = {tiles, splits};
    }
  }
  return best;
}

} // namespace tcc::codegen::cuda
