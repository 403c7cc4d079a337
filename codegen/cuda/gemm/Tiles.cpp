//===- Tiles.cpp ----------------------------------------------------------===//
#include "codegen/cuda/gemm/Tiles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "llvm/Support/MathExtras.h"

namespace tcc::codegen::cuda {
namespace {

const std::vector<GemmTiles> &candidates(int64_t elementBytes) {
  static const std::vector<GemmTiles> half = {{true, 128, 128, 32, 4, 2, 2}, {true, 128, 64, 32, 4, 2, 2},
                                              {true, 64, 128, 32, 4, 2, 2},  {true, 64, 64, 64, 3, 2, 2},
                                              {true, 32, 64, 64, 4, 2, 2},   {true, 16, 64, 64, 4, 1, 4}};
  static const std::vector<GemmTiles> single = {{false, 128, 128, 16, 3, 8, 8},
                                                {false, 64, 128, 16, 3, 4, 8},
                                                {false, 64, 64, 16, 4, 4, 8},
                                                {false, 32, 64, 32, 3, 4, 4},
                                                {false, 16, 64, 32, 3, 4, 4}};
  static const std::vector<GemmTiles> twice = {
      {false, 64, 64, 8, 3, 4, 4}, {false, 32, 32, 16, 3, 4, 4}, {false, 16, 32, 16, 3, 4, 4}};
  return elementBytes == 2 ? half : elementBytes == 4 ? single : twice;
}

// Clock cycles of a product, roughly: to be replaced by measurement where a GPU is at hand. A multiprocessor takes its
// blocks one after the other; a step of one is bound by multiplications, by what it fetches, or by its own latency,
// which the blocks that fit beside it hide.
double cyclesOf(const GemmTiles &tiles, int splits, int64_t batch, int64_t m, int64_t n, int64_t k,
                int64_t elementBytes, const CudaDescription &device) {
  constexpr double kStepLatency = 400, kBlockOverhead = 2500, kLaunch = 4000;
  constexpr double kFetchedBytes = 32; // a cycle, of L2 for each multiprocessor
  // Multiplications a cycle of one multiprocessor that a good kernel comes to.
  double rate = elementBytes == 2 ? 600 : elementBytes == 4 ? 96 : 24;
  double blocks = static_cast<double>(batch * llvm::divideCeil(m, tiles.m) * llvm::divideCeil(n, tiles.n)) * splits;
  double rounds = std::max(1.0, std::ceil(blocks / device.multiprocessors));
  int64_t sumBytes = std::max<int64_t>(4, elementBytes);
  double beside = std::min(
      rounds, std::floor(std::min<double>(device.sharedPerMultiprocessor / tiles.sharedBytes(elementBytes, sumBytes),
                                          device.registersPerMultiprocessor / (tiles.threads() * 224.0))));
  double steps = std::ceil(std::ceil(static_cast<double>(k) / tiles.depth) / splits);
  // Fragments from shared memory: 512 bytes a load of a warp, of which several lanes read the same without tensor
  // cores.
  double warps = tiles.threads() / 32.0;
  double fragments = tiles.mma ? warps * (tiles.warpM() + tiles.warpN()) / 16 * tiles.depth / 16 * 4
                               : warps * (tiles.a + tiles.b) * tiles.depth / (16.0 / elementBytes) * 3;
  double step = std::max({kStepLatency / std::max(1.0, beside), double(tiles.m) * tiles.n * tiles.depth / rate,
                          fragments, double(tiles.m + tiles.n) * tiles.depth * elementBytes / kFetchedBytes});
  double cycles = rounds * (steps * step + kBlockOverhead / std::max(1.0, beside));
  if (splits > 1)
    cycles += kLaunch + 2.0 * splits * batch * m * n * sumBytes / (kFetchedBytes * device.multiprocessors);
  return cycles;
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
  int64_t k = shape.k.value_or(kUnknown);
  bool known = shape.batch && shape.m && shape.n && shape.k;
  GemmChoice best;
  double bestCycles = 0;
  for (const GemmTiles &tiles : candidates(elementBytes)) {
    if (tiles.sharedBytes(elementBytes, std::max<int64_t>(4, elementBytes)) > device.sharedPerBlockOptIn)
      continue;
    for (int splits : {1, 2, 3, 4, 6, 8, 12, 16}) {
      // Each part long enough to be worth a start.
      constexpr int64_t kLeastSteps = 4;
      if (splits > 1 && (!known || k / tiles.depth < splits * kLeastSteps))
        break;
      double cycles = cyclesOf(tiles, splits, batch, m, n, k, elementBytes, device);
      // Of what is the same, the smaller tile.
      if (best.tiles.m == 0 || cycles < bestCycles ||
          (cycles == bestCycles && tiles.m * tiles.n < best.tiles.m * best.tiles.n)) {
        bestCycles = cycles;
        best = {tiles, splits};
      }
    }
  }
  return best;
}

} // namespace tcc::codegen::cuda
