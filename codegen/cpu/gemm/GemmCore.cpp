//===- GemmCore.cpp -------------------------------------------------------===//
#include "codegen/cpu/gemm/GemmCore.h"

#include "codegen/cpu/gemm/MicroKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tcc::codegen::gemm {

int64_t Scratch::reserve(int64_t count, Type element) {
  int64_t at = size;
  size += (count * (element.getIntOrFloatBitWidth() / 8) + 63) / 64 * 64;
  return at;
}

Value Scratch::view(Emit &e, const Frame &frame, int64_t offset, int64_t count, Type element) {
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  return e.b.create<memref::ViewOp>(e.loc, type, frame.scratch, e.c(offset), ValueRange{e.c(count)});
}

// Everything a work item knows.
struct GemmCore::Block {
  Value g, tile0, tile1, panel0, panel1;
  Value m, n, k;      // extents
  Value base, taller; // static M: rows of a register tile, and how many tiles have one more
  Value row0, row1;   // rows of the block
  Value k0, depth;    // the block of K
  Value last;         // whether it is the last one
  Value aMemory, bMemory, cMemory;
};

std::optional<int64_t> GemmCore::constant(AffineExpr expr) const {
  if (auto known = dyn_cast<AffineConstantExpr>(expr))
    return known.getValue();
  return std::nullopt;
}

bool GemmCore::splitK() const {
  auto depth = constant(k);
  return !depth || *depth > tiles.kBlock;
}

AffineExpr GemmCore::tilesOfRows() const { return m.ceilDiv(tiles.rows); }

AffineExpr GemmCore::items() const {
  return simplify(batch * tilesOfRows().ceilDiv(tiles.rowTiles) * n.ceilDiv(tiles.panelWidth()).ceilDiv(tiles.panels));
}

void GemmCore::layout() {
  int64_t lanes = tiles.lanes;
  int64_t depth = tiles.kBlock;
  if (auto known = constant(k))
    depth = std::min(depth, std::max<int64_t>(1, *known));
  if (!aOffset) {
    // An odd number of vectors apart, so that the rows of a tile do not meet in one set of the cache.
    int64_t vectors = (depth + lanes - 1) / lanes;
    aRowStride = (vectors | 1) * lanes;
    aScratch = scratch.reserve((tiles.rowTiles + 1) * tiles.rows * aRowStride, compute);
  }
  if (b == B::Packed)
    bScratch = scratch.reserve(tiles.panels * depth * tiles.panelWidth(), bPackedType);
  if (splitK())
    cScratch = scratch.reserve(tiles.rowTiles * tiles.panels * tiles.rows * tiles.panelWidth(), compute);
  else if (!unrollEpilogue || !constant(m))
    cScratch = scratch.reserve(tiles.rows * tiles.panelWidth(), compute);
}

void GemmCore::emit(Emit &e, const Frame &frame) const {
  Block block;
  block.m = e.affineNonNegative(m, {}, frame.symbols);
  block.n = e.affineNonNegative(n, {}, frame.symbols);
  block.k = e.affineNonNegative(k, {}, frame.symbols);
  Value tilesM = e.ceilDiv(block.m, e.c(tiles.rows));
  Value panels = e.ceilDiv(block.n, e.c(tiles.panelWidth()));
  if (auto rows = constant(m); rows && *rows > 0) {
    int64_t count = (*rows + tiles.rows - 1) / tiles.rows;
    block.base = e.c(*rows / count);
    block.taller = e.c(*rows % count);
  }
  if (aScratch >= 0)
    block.aMemory = Scratch::view(e, frame, aScratch, (tiles.rowTiles + 1) * tiles.rows * aRowStride, compute);
  if (bScratch >= 0)
    block.bMemory =
        Scratch::view(e, frame, bScratch, (cScratch >= 0 ? cScratch : scratch.bytes()) - bScratch, bPackedType);
  if (cScratch >= 0)
    block.cMemory = Scratch::view(e, frame, cScratch, scratch.bytes() - cScratch, compute);
  Value blocksM = e.ceilDiv(tilesM, e.c(tiles.rowTiles)), blocksN = e.ceilDiv(panels, e.c(tiles.panels));
  e.loop(frame.begin, frame.end, 1, [&](Value item) {
    Value rest = e.div(item, blocksN);
    Value blockN = e.rem(item, blocksN);
    block.g = e.div(rest, blocksM);
    block.tile0 = e.mul(e.rem(rest, blocksM), e.c(tiles.rowTiles));
    block.tile1 = e.min(tilesM, e.add(block.tile0, e.c(tiles.rowTiles)));
    block.panel0 = e.mul(blockN, e.c(tiles.panels));
    block.panel1 = e.min(panels, e.add(block.panel0, e.c(tiles.panels)));
    auto rowOf = [&](Value tile) {
      if (block.base)
        return e.add(e.mul(tile, block.base), e.min(tile, block.taller));
      return e.min(block.m, e.mul(tile, e.c(tiles.rows)));
    };
    block.row0 = rowOf(block.tile0);
    block.row1 = rowOf(block.tile1);
    emitItem(e, frame, block);
  });
}

void GemmCore::emitItem(Emit &e, const Frame &frame, const Block &item) const {
  Block block = item;
  auto step = [&](Value k0) {
    block.k0 = k0;
    block.depth = e.min(e.c(tiles.kBlock), e.sub(block.k, k0));
    block.last = e.ge(e.add(k0, block.depth), block.k);
    if (auto known = constant(k); known && *known <= tiles.kBlock) {
      block.depth = e.c(*known);
      block.last = e.eq(e.c(0), e.c(0));
    }
    if (block.aMemory)
      packA(e, frame, block.g, block.row0, e.sub(block.row1, block.row0), k0, block.depth, block.aMemory, aRowStride);
    int64_t width = tiles.panelWidth();
    if (b == B::Packed)
      e.loop(block.panel0, block.panel1, 1, [&](Value panel) {
        Value base = e.mul(e.sub(panel, block.panel0), e.mul(block.depth, e.c(width)));
        packB(e, frame, block.g, k0, block.depth, e.mul(panel, e.c(width)), block.bMemory, base);
      });
    e.loop(block.panel0, block.panel1, 1, [&](Value panel) {
      Value count = e.sub(block.n, e.mul(panel, e.c(width)));
      auto known = constant(n);
      // Narrower forms for the last panel, as wide as can be needed.
      SmallVector<int64_t> narrow;
      if (known) {
        if (int64_t rest = *known % width)
          narrow.push_back((rest + tiles.lanes - 1) / tiles.lanes);
      } else {
        for (int64_t vectors = 1; vectors <= tiles.vectors; ++vectors)
          narrow.push_back(vectors);
      }
      std::function<void(ArrayRef<int64_t>)> choose = [&](ArrayRef<int64_t> widths) {
        if (widths.size() == 1)
          return emitPanel(e, frame, block, panel, widths[0], true);
        e.when(
            e.ge(e.c(widths[0] * tiles.lanes), count), [&] { emitPanel(e, frame, block, panel, widths[0], true); },
            [&] { choose(widths.drop_front()); });
      };
      if (narrow.empty())
        emitPanel(e, frame, block, panel, tiles.vectors, false);
      else if (known && *known < width)
        choose(narrow);
      else
        e.when(
            e.ge(count, e.c(width)), [&] { emitPanel(e, frame, block, panel, tiles.vectors, false); },
            [&] { choose(narrow); });
    });
  };
  if (!splitK())
    return step(e.c(0));
  Value size = e.c(tiles.rowTiles * tiles.panels * tiles.rows * tiles.panelWidth());
  e.loop(e.c(0), size, tiles.lanes,
         [&](Value i) { e.vstore(e.zero(e.vector(compute, tiles.lanes)), block.cMemory, i); });
  // At least once, so that an empty sum still reaches the epilogue.
  e.loop(e.c(0), e.max(block.k, e.c(1)), tiles.kBlock, step);
}

void GemmCore::emitPanel(Emit &e, const Frame &frame, const Block &block, Value panel, int64_t vectors,
                         bool tail) const {
  e.loop(block.tile0, block.tile1, 1, [&](Value tile) {
    if (block.base) {
      int64_t base = *constantOf(block.base), taller = *constantOf(block.taller);
      if (taller == 0)
        return emitTile(e, frame, block, panel, vectors, tail, tile, base, true);
      e.when(
          e.lt(tile, block.taller), [&] { emitTile(e, frame, block, panel, vectors, tail, tile, base + 1, true); },
          [&] { emitTile(e, frame, block, panel, vectors, tail, tile, base, true); });
      return;
    }
    // The smallest form that has enough rows; the rows too many are computed from whatever lies in the packed block.
    // Each form costs time to compile: for the last panel of an unknown width, of which there is one, few will do.
    SmallVector<int64_t> heights;
    for (int64_t height : {1, 2, 3, 4, 6, 8, 10, 12, 14, 18, 22, 28})
      if (height < tiles.rows && (!tail || constant(n) || height == 1 || height == 4))
        heights.push_back(height);
    heights.push_back(tiles.rows);
    Value rows = e.min(e.c(tiles.rows), e.sub(block.m, e.mul(tile, e.c(tiles.rows))));
    std::function<void(ArrayRef<int64_t>)> choose = [&](ArrayRef<int64_t> left) {
      int64_t height = left.back();
      if (left.size() == 1)
        return emitTile(e, frame, block, panel, vectors, tail, tile, height, height == 1);
      int64_t below = left[left.size() - 2];
      e.when(
          e.lt(e.c(below), rows),
          [&] { emitTile(e, frame, block, panel, vectors, tail, tile, height, height == below + 1); },
          [&] { choose(left.drop_back()); });
    };
    choose(heights);
  });
}

void GemmCore::emitTile(Emit &e, const Frame &frame, const Block &block, Value panel, int64_t vectors, bool tail,
                        Value tile, int64_t rows, bool exact) const {
  int64_t lanes = tiles.lanes, width = tiles.panelWidth();
  Value row = block.base ? e.add(e.mul(tile, block.base), e.min(tile, block.taller)) : e.mul(tile, e.c(tiles.rows));
  Value column = e.mul(panel, e.c(width));
  // Lanes of the last vector.
  Value count, mask;
  if (tail) {
    count = e.sub(block.n, e.add(column, e.c((vectors - 1) * lanes)));
    if (auto known = constant(n); known && *known % lanes == 0)
      count = Value();
    else
      mask = e.maskOf(count, lanes);
  }
  MicroA a;
  if (aOffset) {
    auto rowStride = dimStride(aOffset, 1, 3), kStride = dimStride(aOffset, 2, 3);
    assert(rowStride && kStride && "A in place is linear in m and k");
    a.memref = frame.buffers[aBuffer];
    a.base = e.affineNonNegative(aOffset, {block.g, row, block.k0}, frame.symbols);
    a.kStride = e.affineNonNegative(*kStride, {}, frame.symbols);
    for (int64_t r = 0; r < rows; ++r)
      a.rowOffsets.push_back(e.mul(e.affineNonNegative(*rowStride, {}, frame.symbols), e.c(r)));
  } else {
    a.memref = block.aMemory;
    a.base = e.mul(e.sub(row, block.row0), e.c(aRowStride));
    a.kStride = e.c(1);
    for (int64_t r = 0; r < rows; ++r)
      a.rowOffsets.push_back(e.c(r * aRowStride));
  }
  MicroB operand;
  operand.kStride = e.c(width);
  switch (b) {
  case B::Panels: {
    Value index = panel;
    if (bBatched)
      index = e.add(panel, e.mul(block.g, e.ceilDiv(block.n, e.c(width))));
    operand.memref = frame.buffers[bBuffer];
    operand.base = e.mul(e.add(e.mul(index, block.k), block.k0), e.c(width));
    break;
  }
  case B::InPlace: {
    operand.memref = frame.buffers[bBuffer];
    operand.base = e.affineNonNegative(bOffset, {block.g, block.k0, column}, frame.symbols);
    auto stride = dimStride(bOffset, 1, 3);
    assert(stride && "B in place is linear in k");
    operand.kStride = e.affineNonNegative(*stride, {}, frame.symbols);
    operand.tailMask = mask;
    break;
  }
  case B::Packed:
    operand.memref = block.bMemory;
    operand.base = e.mul(e.sub(panel, block.panel0), e.mul(block.depth, e.c(width)));
    break;
  }

  auto consume = [&](Value m, ValueRange sums) {
    for (int64_t v = 0; v < vectors; ++v) {
      bool cut = v + 1 == vectors && mask;
      epilogue(e, frame, block.g, m, e.add(column, e.c(v * lanes)), sums[v], lanes, cut ? count : Value(),
               cut ? mask : Value());
    }
  };
  if (!splitK() && unrollEpilogue && exact) {
    Values sums = emitMicroKernel(e, compute, rows, vectors, lanes, a, operand, block.depth, {});
    for (int64_t r = 0; r < rows; ++r)
      consume(e.add(row, e.c(r)), ValueRange(sums).slice(r * vectors, vectors));
    return;
  }
  // Through memory: partial sums of earlier blocks of K come in, the epilogue runs in a loop over rows.
  Value base = e.c(0);
  Values init;
  if (splitK()) {
    Value place = e.add(e.mul(e.sub(panel, block.panel0), e.c(tiles.rowTiles)), e.sub(tile, block.tile0));
    base = e.mul(place, e.c(tiles.rows * width));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(e.vload(block.cMemory, e.add(base, e.c(r * width + v * lanes)), lanes));
  }
  Values sums = emitMicroKernel(e, compute, rows, vectors, lanes, a, operand, block.depth, init);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      e.vstore(sums[r * vectors + v], block.cMemory, e.add(base, e.c(r * width + v * lanes)));
  e.when(block.last, [&] {
    Value valid = exact ? e.c(rows) : e.min(e.c(rows), e.sub(block.m, row));
    e.loop(e.c(0), valid, 1, [&](Value r) {
      Values loaded;
      for (int64_t v = 0; v < vectors; ++v)
        loaded.push_back(e.vload(block.cMemory, e.add(base, e.add(e.mul(r, e.c(width)), e.c(v * lanes))), lanes));
      consume(e.add(row, r), loaded);
    });
  });
}

} // namespace tcc::codegen::gemm
