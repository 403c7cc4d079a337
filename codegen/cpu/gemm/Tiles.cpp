//===- Tiles.cpp ----------------------------------------------------------===//
#include "codegen/cpu/gemm/Tiles.h"

#include <algorithm>

namespace tcc::codegen::gemm {
namespace {

int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }
int64_t roundUp(int64_t x, int64_t y) { return ceilDiv(x, y) * y; }

// Register tiles that leave registers for a row of B and a broadcast element of A.
std::vector<std::pair<int64_t, int64_t>> registerTiles(const Machine &machine) {
  if (machine.registers >= 32)
    return {{14, 2}, {9, 3}, {6, 4}, {28, 1}, {4, 6}, {3, 8}, {2, 8}, {1, 8}};
  return {{6, 2}, {4, 3}, {12, 1}, {3, 4}, {2, 5}, {1, 8}};
}

// Cycles for one step of K over the whole product, two FMAs and two loads a cycle, four cycles of latency.
double stepCycles(int64_t m, int64_t n, int64_t rows, int64_t vectors, int64_t lanes) {
  auto tile = [&](int64_t r, int64_t v) {
    double work = std::max(r * v / 2.0, (r + v) / 2.0);
    // Few accumulators are split over K by the micro-kernel, at the price of some loop overhead.
    return r * v < 8 ? work + 0.5 : work;
  };
  int64_t tilesM = ceilDiv(m, rows), height = m / tilesM, taller = m % tilesM;
  int64_t full = n / (vectors * lanes), tail = ceilDiv(n % (vectors * lanes), lanes);
  double column = taller * tile(height + 1, vectors) + (tilesM - taller) * tile(height, vectors);
  double last = tail ? taller * tile(height + 1, tail) + (tilesM - taller) * tile(height, tail) : 0;
  return full * column + last;
}

GemmTiles blocks(const GemmShape &shape, const Machine &machine, int64_t rows, int64_t vectors, int64_t lanes) {
  GemmTiles tiles;
  tiles.lanes = lanes;
  tiles.rows = rows;
  tiles.vectors = vectors;
  int64_t bytes = shape.elementBits / 8;
  // One panel of B and one tile of A should stay in L1 for a while; splitting K costs a pass over the accumulators.
  int64_t most = std::max(lanes, machine.l1Bytes * 2 / bytes / (vectors * lanes + rows) / lanes * lanes);
  // With a single row of tiles B is read once, best in one go.
  bool once = shape.m && *shape.m <= rows;
  if (shape.k && (*shape.k <= most * 3 / 2 || (once && *shape.k <= 8192)))
    tiles.kBlock = std::max(lanes, roundUp(*shape.k, lanes));
  else if (shape.k)
    tiles.kBlock = std::max(lanes, roundUp(ceilDiv(*shape.k, ceilDiv(*shape.k, most)), lanes));
  else
    tiles.kBlock = most;
  int64_t depth = tiles.kBlock;
  int64_t tilesM = shape.m ? std::max<int64_t>(1, ceilDiv(*shape.m, rows)) : 64;
  int64_t panels = shape.n ? std::max<int64_t>(1, ceilDiv(*shape.n, vectors * lanes)) : 64;
  // A's block takes an eighth of L2, B's a half.
  int64_t mostTiles = std::max<int64_t>(1, machine.l2Bytes / 8 / bytes / depth / rows);
  int64_t mostPanels = std::max<int64_t>(1, machine.l2Bytes / 2 / bytes / depth / (vectors * lanes));
  tiles.rowTiles = ceilDiv(tilesM, ceilDiv(tilesM, mostTiles));
  tiles.panels = ceilDiv(panels, ceilDiv(panels, mostPanels));
  // Enough items for the threads, as long as an item is worth some 20 microseconds.
  int64_t batch = shape.batch.value_or(1);
  auto items = [&] { return batch * ceilDiv(tilesM, tiles.rowTiles) * ceilDiv(panels, tiles.panels); };
  auto flops = [&] { return 2.0 * tiles.rowTiles * rows * tiles.panels * vectors * lanes * shape.k.value_or(depth); };
  auto wanted = [&] { return (items() < 16 && flops() > 4e6) || (items() < 64 && flops() > 64e6); };
  while (wanted() && (tiles.rowTiles > 1 || tiles.panels > 1)) {
    bool columns = shape.packsA ? tiles.rowTiles == 1 : tiles.panels * vectors * lanes >= tiles.rowTiles * rows;
    int64_t &side = columns && tiles.panels > 1 ? tiles.panels : tiles.rowTiles > 1 ? tiles.rowTiles : tiles.panels;
    side = ceilDiv(side, 2);
  }
  return tiles;
}

} // namespace

std::vector<GemmTiles> candidateTiles(const GemmShape &shape, const Machine &machine) {
  int64_t lanes = std::max<int64_t>(1, machine.vectorBits / shape.elementBits);
  auto shapes = registerTiles(machine);
  // The general tile for extents that are not known.
  std::vector<std::pair<double, std::pair<int64_t, int64_t>>> ranked;
  for (auto [rows, vectors] : shapes) {
    double cost = stepCycles(std::max<int64_t>(1, shape.m.value_or(840)), std::max<int64_t>(1, shape.n.value_or(1536)),
                             rows, vectors, lanes);
    // A slight preference for the order of the list.
    ranked.push_back({cost * (1 + 0.01 * ranked.size()), {rows, vectors}});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto &x, const auto &y) { return x.first < y.first; });
  std::vector<GemmTiles> all;
  for (auto [cost, tile] : ranked) {
    auto [rows, vectors] = tile;
    if (all.size() == 4)
      break;
    int64_t height = shape.m ? std::min(rows, std::max<int64_t>(1, *shape.m)) : rows;
    int64_t width = shape.n ? std::min(vectors, std::max<int64_t>(1, ceilDiv(*shape.n, lanes))) : vectors;
    GemmTiles tiles = blocks(shape, machine, height, width, lanes);
    all.push_back(tiles);
    if (all.size() > 2)
      continue;
    GemmTiles other = tiles;
    other.kBlock = std::max(lanes, roundUp(ceilDiv(tiles.kBlock, 2), lanes));
    all.push_back(other);
  }
  // How the product is cut into work items, for the best register tile.
  auto variant = [&](auto change) {
    GemmTiles other = all.front();
    change(other);
    all.push_back(other);
  };
  variant([](GemmTiles &t) { t.panels = ceilDiv(t.panels, 2); });
  variant([](GemmTiles &t) { t.rowTiles = ceilDiv(t.rowTiles, 2); });
  variant([](GemmTiles &t) { t.panels *= 2; });
  variant([](GemmTiles &t) { t.rowTiles *= 2; });
  std::vector<GemmTiles> distinct;
  for (const GemmTiles &tiles : all)
    if (std::find(distinct.begin(), distinct.end(), tiles) == distinct.end())
      distinct.push_back(tiles);
  return distinct;
}

GemmTiles chooseTiles(const GemmShape &shape, const Machine &machine) { return candidateTiles(shape, machine).front(); }

} // namespace tcc::codegen::gemm
