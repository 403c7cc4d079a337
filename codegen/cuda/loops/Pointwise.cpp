//===- Pointwise.cpp - nests without reductions ---------------------------===//
#include "codegen/cuda/loops/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

// Squares that are transposed in shared memory, by blocks of kTile x kTileRows threads.
constexpr int64_t kTile = 32, kTileRows = 8;
// Fewer elements than this along a dimension are not worth squares.
constexpr int64_t kLeastTile = 12;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

} // namespace

std::optional<unsigned> LoopFunction::findTile(const LoopNest &nest, unsigned lane) {
  if (nest.constantExtent(lane).value_or(kTile) < kLeastTile)
    return std::nullopt;
  for (unsigned tile = 0; tile < nest.numParallel; ++tile) {
    if (tile == lane || nest.constantExtent(tile).value_or(kTile) < kLeastTile)
      continue;
    llvm::SmallVector<ir::LoadOp> loads = transposedLoads(nest, lane, tile);
    int64_t bytes = 0;
    for (ir::LoadOp load : loads)
      bytes += kTile * (kTile + 1) * (storageType(elementOf(load.getTensor())).getIntOrFloatBitWidth() / 8);
    if (!loads.empty() && bytes <= backend.device().sharedPerBlock)
      return tile;
  }
  return std::nullopt;
}

LogicalResult LoopFunction::emitPointwise(KernelCode &code) {
  const LoopNest &nest = nests[0];
  if (nest.numDims() == 0) {
    begin("pointwise", 32);
    BodyEmitter body(b, nest, context);
    when(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, thread, constant(0)),
         [&] { writeElements(nest, body, {}); });
    return finish(code, getAffineConstantExpr(1, mlir), "one element");
  }
  unsigned lane = nest.numDims() - 1;
  if (std::optional<unsigned> tile = findTile(nest, lane))
    return emitTransposed(code, lane, *tile);

  // Vectors where they leave enough threads to keep the device busy.
  const int kThreads = tuned.threads;
  const int64_t widest = vectorWidth(nest, lane);
  int64_t width = widest;
  int64_t total = estimate(nest.extents);
  while (width > 1 && total / width < backend.device().multiprocessors * int64_t{LoopChoice().threads})
    width /= 2;
  width = tuned.scaled(width, 1, widest);
  bool isFlat = nest.numDims() == 1;
  std::optional<int64_t> last = nest.constantExtent(lane);
  bool isWhole = last && *last % width == 0;
  if (!isWhole && !isFlat) {
    while (width > 1 && !(last && *last % width == 0))
      width /= 2;
    isWhole = true;
  }
  AffineExpr vectors = nest.extents[lane].ceilDiv(width);
  Exprs extents(nest.extents);
  extents[lane] = ir::simplifyExtent(vectors);
  AffineExpr count = product(extents);

  begin("pointwise", kThreads);
  BodyEmitter body(b, nest, context);
  Value index = named(add(mul(block, kThreads), thread), "index");
  when(less(index, extent(count)), [&] {
    Chunk chunk{delinearize(index, extents), static_cast<int>(lane), width};
    chunk.dims[lane] = named(mul(chunk.dims[lane], width), "first");
    if (width == 1 || isWhole) {
      writeElements(nest, body, chunk);
      return;
    }
    // The last thread has fewer.
    Value size = extent(nest.extents[lane]), first = chunk.dims[lane];
    Value fits = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, add(first, constant(width)), size);
    when(fits, [&] { writeElements(nest, body, chunk); });
    Value none = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, add(first, constant(width)), size);
    when(none, [&] {
      loop(first, size, constant(1), {}, [&](Value at, ValueRange) -> Values {
        Chunk single{chunk.dims, chunk.lane, 1};
        single.dims[lane] = at;
        writeElements(nest, body, single);
        return {};
      });
    });
  });
  return finish(code, count.ceilDiv(kThreads), std::to_string(width) + " elements a thread");
}

// Squares of the result: what is contiguous along the other dimension is read along it, into shared memory.
LogicalResult LoopFunction::emitTransposed(KernelCode &code, unsigned lane, unsigned tile) {
  const LoopNest &nest = nests[0];
  llvm::SmallVector<ir::LoadOp> loads = transposedLoads(nest, lane, tile);
  begin("transposed", kTile * kTileRows);
  BodyEmitter body(b, nest, context);
  Exprs extents(nest.extents);
  extents[lane] = extents[lane].ceilDiv(kTile);
  extents[tile] = extents[tile].ceilDiv(kTile);
  Values dims = delinearize(block, extents);
  Value x = named(b.create<arith::RemUIOp>(loc, thread, constant(kTile)), "x");
  Value y = named(b.create<arith::DivUIOp>(loc, thread, constant(kTile)), "y");
  Value laneLow = mul(dims[lane], kTile), tileLow = mul(dims[tile], kTile);
  Value laneEnd = extent(nest.extents[lane]), tileEnd = extent(nest.extents[tile]);
  auto rows = [&](Value along, Value alongEnd, unsigned alongDim, Value across, Value acrossEnd, unsigned acrossDim,
                  llvm::function_ref<void(Value row, const Values &)> use) {
    Value column = add(along, x);
    Values at = dims;
    at[alongDim] = column;
    when(less(column, alongEnd), [&] {
      loop(
          constant(0), constant(kTile), constant(kTileRows), {},
          [&](Value step, ValueRange) -> Values {
            Value row = add(y, step), index = add(across, row);
            at[acrossDim] = index;
            when(less(index, acrossEnd), [&] { use(row, at); });
            return {};
          },
          /*unroll=*/true);
    });
  };
  Values squares;
  for (ir::LoadOp load : loads)
    // One more column, so that neither rows nor columns meet in a bank.
    squares.push_back(named(shared(storageType(elementOf(load.getTensor())), {kTile, kTile + 1}), "square"));
  rows(tileLow, tileEnd, tile, laneLow, laneEnd, lane, [&](Value row, const Values &at) {
    for (auto [load, square] : llvm::zip(loads, squares)) {
      Value offset = body.loadOffset(load, Point{at});
      Value element = b.create<memref::LoadOp>(loc, memrefOf(load.getTensor()), offset);
      b.create<memref::StoreOp>(loc, element, square, ValueRange{row, x});
    }
  });
  barrier();
  rows(laneLow, laneEnd, lane, tileLow, tileEnd, tile, [&](Value row, const Values &at) {
    for (auto [load, square] : llvm::zip(loads, squares))
      body.setLoaded(load, fromStorage(b, loc, b.create<memref::LoadOp>(loc, square, ValueRange{x, row}),
                                       elementOf(load.getTensor())));
    Point point{at};
    for (auto [r, value] : llvm::enumerate(body.evaluate(point)))
      storeResult(body, nest, r, value, point);
  });
  return finish(code, product(extents), "squares of 32 x 32, transposed in shared memory");
}

} // namespace tcc::codegen::cuda
