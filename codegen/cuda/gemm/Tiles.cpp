//===- Tiles.cpp ----------------------------------------------------------===//
#include "codegen/cuda/gemm/Tiles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codegen/cuda/compile/KernelReport.h"
#include "llvm/Support/MathExtras.h"

namespace tcc::codegen::cuda {
namespace {

// What is not known is taken to be of a middling size.
constexpr int64_t kUnknown = 1024;

constexpr int kWarp = 32;

std::vector<GemmTiles> candidates(const GemmElements &elements) {
  using enum GemmEngine;
  if (elements.engine == Tma)
    return {{Tma, 128, 256, 64, 4}, {Tma, 128, 128, 64, 6}, {Tma, 64, 128, 64, 6}};
  if (elements.engine == Wgmma)
    return {{Wgmma, 128, 128, 64, 4}, {Wgmma, 64, 128, 64, 4}, {Wgmma, 64, 64, 64, 4}};
  if (elements.engine == Mma) {
    // Lines of shared memory are as long for other elements.
    int wide = static_cast<int>(64 / elements.bytes), narrow = wide / 2;
    std::vector<GemmTiles> all = {{Mma, 128, 128, narrow, 4, 2, 2}, {Mma, 128, 64, narrow, 4, 2, 2},
                                  {Mma, 64, 128, narrow, 4, 2, 2},  {Mma, 64, 64, wide, 3, 2, 2},
                                  {Mma, 32, 64, wide, 4, 2, 2},     {Mma, 16, 64, wide, 4, 1, 4}};
    for (GemmTiles &tiles : all)
      tiles.depth *= 2;
    // Sums of rows and columns take registers, too.
    if (elements.zeros)
      all.erase(all.begin());
    return all;
  }
  if (elements.bytes == 4)
    return {{Simt, 128, 128, 16, 3, 8, 8},
            {Simt, 64, 128, 16, 3, 4, 8},
            {Simt, 64, 64, 16, 4, 4, 8},
            {Simt, 32, 64, 32, 3, 4, 4},
            {Simt, 16, 64, 32, 3, 4, 4}};
  return {{Simt, 64, 64, 8, 3, 4, 4}, {Simt, 32, 32, 16, 3, 4, 4}, {Simt, 16, 32, 16, 3, 4, 4}};
}

// Multiplications a cycle of one multiprocessor that a good kernel comes to.
double rateOf(const GemmElements &elements) {
  switch (elements.engine) {
  case GemmEngine::Simt:
    return elements.bytes == 4 ? 96 : 24;
  case GemmEngine::Mma:
    return 1200.0 / static_cast<double>(elements.bytes);
  case GemmEngine::Wgmma:
  case GemmEngine::Tma:
    return 1000;
  }
  return 1;
}

// Clock cycles of a product, roughly: to be replaced by measurement where a GPU is at hand. A multiprocessor takes its
// blocks one after the other; a step of one is bound by multiplications, by what it fetches, or by its own latency,
// which the blocks that fit beside it hide.
double cyclesOf(const GemmChoice &choice, int64_t batch, int64_t m, int64_t n, int64_t k, const GemmElements &elements,
                const CudaDescription &device) {
  constexpr double kStepLatency = 400, kBlockOverhead = 2500, kHandOver = 1500;
  constexpr double kFetchedBytes = 32; // a cycle, of L2 for each multiprocessor
  const GemmTiles &tiles = choice.tiles;
  double blocks =
      static_cast<double>(batch * llvm::divideCeil(m, tiles.m) * llvm::divideCeil(n, tiles.n)) * choice.splits;
  double rounds = std::max(1.0, std::ceil(blocks / device.multiprocessors));
  double beside = std::min<double>(rounds, choice.beside), bytes = static_cast<double>(elements.bytes);
  double steps = std::ceil(std::ceil(static_cast<double>(k) / tiles.depth) / choice.splits);
  // Fragments from shared memory: 512 bytes a load of a warp, of which several lanes read the same without tensor
  // cores. wgmma reads it by itself.
  double warps = tiles.threads() / double(kWarp), chunk = 16 / bytes;
  double fragments = 0;
  if (tiles.engine == GemmEngine::Mma)
    fragments = warps * (tiles.warpM() + tiles.warpN()) / 16 * tiles.depth / (2 * chunk) * 4;
  else if (tiles.engine == GemmEngine::Simt)
    fragments = warps * (tiles.a + tiles.b) * tiles.depth / chunk * 3;
  double step =
      std::max({kStepLatency / std::max(1.0, beside), double(tiles.m) * tiles.n * tiles.depth / rateOf(elements),
                fragments, double(tiles.m + tiles.n) * tiles.depth * bytes / kFetchedBytes});
  double cycles = rounds * (steps * step + kBlockOverhead / std::max(1.0, beside));
  // Every block writes its sums and says so; the last one of a tile reads those of all.
  if (choice.splits > 1) {
    double tile = static_cast<double>(tiles.m * tiles.n * elements.sumBytes) / kFetchedBytes;
    cycles += rounds * (tile + kHandOver / std::max(1.0, beside)) + kHandOver + choice.splits * tile;
  }
  return cycles;
}

} // namespace

int64_t GemmTiles::sharedBytes(const GemmElements &elements) const {
  int64_t tiles = int64_t(m + n) * depth * stages * elements.bytes;
  // Results have a place of their own, 16 rows of 32 columns for each warp; and two mbarriers a stage.
  if (engine == GemmEngine::Tma)
    return tiles + int64_t(16) * 40 * 4 * (m / 16) + 16 * stages;
  int64_t slice =
      int64_t(engine == GemmEngine::Simt ? 4 : 16) * (warpN() + 8) * (threads() / kWarp) * elements.sumBytes;
  return std::max(tiles, slice);
}

int GemmTiles::registers(const GemmElements &elements) const {
  // As many as one block can have.
  if (engine == GemmEngine::Tma)
    return m == 64 ? 255 : 168;
  // Addresses of some copies, loop counters, and what the compiler holds ahead.
  constexpr int kOther = 64, kGathered = 32, kCopies = 4, kWindows = 16, kMost = 255;
  int sums = m * n / threads() * static_cast<int>(elements.sumBytes / 4), fragments = 0;
  if (engine == GemmEngine::Mma) {
    fragments = (warpM() + warpN()) / 16 * 4;
    if (elements.gathered)
      fragments += kGathered;
    if (elements.zeros)
      sums += warpM() / 16 * 4 + warpN() / 8 * 4;
  } else if (engine == GemmEngine::Simt) {
    fragments = (a + b) * 4;
  }
  // All copies of a step are under way at once.
  int copies = std::max(0, m * depth / elements.vectorA / threads() - kCopies) * elements.addressA +
               std::max(0, n * depth / elements.vectorB / threads() - kCopies) * elements.addressB;
  // Places in a window, and what they are compared with.
  if (elements.addressA > 1 || elements.addressB > 1)
    copies += kWindows;
  return std::min(kMost, sums + fragments + copies + kOther);
}

std::string GemmTiles::text() const {
  std::string list;
  for (int value : {m, n, depth, stages})
    list += (list.empty() ? "" : ", ") + std::to_string(value);
  if (engine == GemmEngine::Wgmma)
    return "Warpgroups<" + list + ">";
  if (engine == GemmEngine::Tma)
    return "TmaWarpgroups<" + list + ">";
  list += ", " + std::to_string(a) + ", " + std::to_string(b);
  return (engine == GemmEngine::Mma ? "Mma<" : "Simt<") + list + ">";
}

const char *nameOf(GemmEngine engine) {
  const char *names[] = {"", " on tensor cores", " by wgmma", " by wgmma and TMA"};
  return names[static_cast<int>(engine)];
}

int blocksBeside(const CudaDescription &device, int threads, int registers, int64_t sharedBytes) {
  const MultiprocessorLimits *limits = limitsOf(device.computeCapability);
  if (limits == nullptr)
    return 1;
  KernelResources resources;
  resources.registers = registers;
  return std::max(1, occupancyOf(*limits, resources, threads, sharedBytes).blocks);
}

double predictCycles(const GemmChoice &choice, const GemmShape &shape, const GemmElements &elements,
                     const CudaDescription &device) {
  return cyclesOf(choice, shape.batch.value_or(1), shape.m.value_or(kUnknown), shape.n.value_or(kUnknown),
                  shape.k.value_or(kUnknown), elements, device);
}

bool canDivide(const GemmShape &shape, const GemmTiles &tiles, int parts) {
  constexpr int64_t kLeastSteps = 4;
  if (parts == 1)
    return true;
  return tiles.engine != GemmEngine::Tma && shape.batch && shape.m && shape.n && shape.k &&
         *shape.k / tiles.depth >= parts * kLeastSteps;
}

GemmChoice chooseTiles(const GemmShape &shape, const GemmElements &elements, const CudaDescription &device) {
  int64_t batch = shape.batch.value_or(1), m = shape.m.value_or(kUnknown), n = shape.n.value_or(kUnknown);
  int64_t k = shape.k.value_or(kUnknown);
  GemmChoice best;
  double bestCycles = 0;
  for (const GemmTiles &tiles : candidates(elements)) {
    int64_t shared = tiles.sharedBytes(elements);
    if (shared > device.sharedPerBlockOptIn)
      continue;
    int beside = blocksBeside(device, tiles.threads(), tiles.registers(elements), shared);
    for (int splits : kPartsOfK) {
      if (!canDivide(shape, tiles, splits))
        break;
      GemmChoice choice{tiles, splits, beside};
      double cycles = cyclesOf(choice, batch, m, n, k, elements, device);
      // Of what is the same, the smaller tile.
      if (best.tiles.m == 0 || cycles < bestCycles ||
          (cycles == bestCycles && tiles.m * tiles.n < best.tiles.m * best.tiles.n)) {
        bestCycles = cycles;
        best = choice;
      }
    }
  }
  return best;
}

} // namespace tcc::codegen::cuda
