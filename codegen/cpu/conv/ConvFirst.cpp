//===- ConvFirst.cpp - convolutions with channels first --------------------===//
//
// A matrix product of the weights, output channels by (channels, taps), with a matrix of (channels, taps) by pixels
// that is gathered a panel at a time into scratch memory, or read where it lies for one tap without stride and padding.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/conv/Geometry.h"
#include "codegen/cpu/gemm/PackRows.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

// Writes a panel of B: row (channel, tap) holds that element of the windows of `vectors * lanes` consecutive pixels.
struct GatherPanel {
  const TemplateKernel &kernel;
  const ConvGeometry &conv;
  const ConvPhase &phase;
  GemmTiles tiles;
  Type storage;

  void operator()(Emit &e, const Frame &frame, Value g, Value k, Value depth, Value n, Value to, Value base) const {
    int64_t taps = std::max<int64_t>(1, phase.taps()), lanes = tiles.lanes;
    Value image = e.div(g, e.c(conv.groups)), group = e.rem(g, e.c(conv.groups));
    Value pixels = e.c(1);
    for (const ConvAxis &axis : phase.axes)
      pixels = e.mul(pixels, e.affineNonNegative(axis.count, {}, frame.symbols));
    // Blocks of K are whole channels.
    Value c0 = e.div(k, e.c(taps)), c1 = e.div(e.add(k, depth), e.c(taps));
    for (int64_t v = 0; v < tiles.vectors; ++v) {
      Value first = e.add(n, e.c(v * lanes));
      e.when(e.lt(first, pixels),
             [&] { emitVector(e, frame, image, group, first, pixels, c0, c1, to, e.add(base, e.c(v * lanes))); });
    }
  }

  // Where the windows of the pixels of one vector start, lane by lane (pixels beyond the last repeat it).
  SmallVector<Values> starts(Emit &e, const Frame &frame, Value first, Value pixels) const {
    SmallVector<Values> places(conv.spatial());
    for (int64_t i = 0; i < tiles.lanes; ++i) {
      Value rest = e.min(e.add(first, e.c(i)), e.sub(pixels, e.c(1)));
      for (unsigned a = conv.spatial(); a-- > 0;) {
        const ConvAxis &axis = phase.axes[a];
        Value extent = e.affineNonNegative(axis.count, {}, frame.symbols);
        Value q = e.rem(rest, extent);
        rest = e.div(rest, extent);
        places[a].push_back(e.add(e.mul(q, e.c(axis.inStride)), e.c(axis.tapOffset)));
      }
    }
    return places;
  }

  void emitVector(Emit &e, const Frame &frame, Value image, Value group, Value first, Value pixels, Value c0, Value c1,
                  Value to, Value base) const {
    int64_t lanes = tiles.lanes, taps = std::max<int64_t>(1, phase.taps());
    unsigned spatial = conv.spatial();
    const Operand &x = kernel.operands[0];
    VectorType indexVector = e.vector(e.b.getIndexType(), lanes);
    SmallVector<Values> lanePlaces = starts(e, frame, first, pixels);
    Values places;
    for (Values &axis : lanePlaces) {
      Value vector = e.zero(indexVector);
      for (int64_t i = 0; i < lanes; ++i)
        vector = e.b.create<vector::InsertOp>(e.loc, axis[i], vector, ArrayRef<int64_t>{i});
      places.push_back(vector);
    }
    e.loop(e.c(0), e.c(phase.taps()), 1, [&](Value tap) {
      Value rest = tap, inside;
      Values at(spatial), shifts(spatial);
      for (unsigned a = spatial; a-- > 0;) {
        const ConvAxis &axis = phase.axes[a];
        Value t = e.rem(rest, e.c(axis.taps));
        rest = e.div(rest, e.c(axis.taps));
        shifts[a] = e.mul(t, e.c(axis.tapStep));
        at[a] = e.b.create<arith::AddIOp>(e.loc, places[a], e.splat(shifts[a], lanes));
        Value extent = e.splat(e.affineNonNegative(axis.in, {}, frame.symbols), lanes);
        // Unsigned: also false below zero.
        Value holds = e.b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::ult, at[a], extent);
        inside = inside ? e.both(inside, holds) : holds;
      }
      if (x.offset && linear()) {
        // The lanes' offsets relative to channel 0 of the group, once for all channels.
        Value offsets = e.zero(indexVector);
        for (unsigned a = 0; a < spatial; ++a) {
          Value stride = e.affine(*dimStride(x.offset, 2 + a, spatial + 2), {}, frame.symbols);
          offsets = e.b.create<arith::AddIOp>(e.loc, offsets,
                                              e.b.create<arith::MulIOp>(e.loc, at[a], e.splat(stride, lanes)));
        }
        Values origin{image, e.mul(group, e.c(conv.inChannels))};
        origin.append(spatial, e.c(0));
        Value start = e.affine(x.offset, origin, frame.symbols);
        Value channelStride = e.affine(*dimStride(x.offset, 1, spatial + 2), {}, frame.symbols);
        Value memref = frame.buffers[x.argument];
        VectorType type = e.vector(storage, lanes);
        // Pixels of one line next to each other are one load.
        Value lastLane = lanePlaces[spatial - 1][lanes - 1], firstLane = lanePlaces[spatial - 1][0];
        bool unit =
            ir::getConstant(*dimStride(x.offset, spatial + 1, spatial + 2)) == 1 && phase.axes.back().inStride == 1;
        Value consecutive = e.eq(e.sub(lastLane, firstLane), e.c(lanes - 1));
        auto copy = [&](llvm::function_ref<Value(Value)> load) {
          e.loop(c0, c1, 1, [&](Value c) {
            Value value = load(e.add(start, e.mul(c, channelStride)));
            Value row = e.add(e.mul(e.sub(c, c0), e.c(taps)), tap);
            e.vstore(value, to, e.add(base, e.mul(row, e.c(tiles.panelWidth()))));
          });
        };
        auto gather = [&] {
          copy([&](Value from) -> Value {
            return e.b.create<vector::GatherOp>(e.loc, type, memref, ValueRange{from}, offsets, inside, e.zero(type));
          });
        };
        if (!unit)
          return gather();
        Value line = e.lane(offsets, 0);
        e.when(
            consecutive, [&] { copy([&](Value from) { return e.vload(memref, e.add(from, line), lanes, inside); }); },
            gather);
        return;
      }
      // A computed operand: element by element.
      e.loop(c0, c1, 1, [&](Value c) {
        Value vector = e.zero(e.vector(storage, lanes));
        for (int64_t i = 0; i < lanes; ++i) {
          Value element = e.when(
              e.lane(inside, i), TypeRange{storage},
              [&] {
                Values dims{image, e.add(e.mul(group, e.c(conv.inChannels)), c)};
                Exprs identity;
                for (unsigned a = 0; a < spatial; ++a)
                  dims.push_back(e.lane(at[a], i));
                for (unsigned a = 0; a < spatial + 2; ++a)
                  identity.push_back(getAffineDimExpr(a, e.b.getContext()));
                Value value = kernel.evaluate(e, frame, Point{dims, frame.symbols}, x.tensor, identity);
                return Values{toStorage(e.b, e.loc, value, x.element)};
              },
              [&] { return Values{e.zero(storage)}; })[0];
          vector = e.b.create<vector::InsertOp>(e.loc, element, vector, ArrayRef<int64_t>{i});
        }
        Value row = e.add(e.mul(e.sub(c, c0), e.c(taps)), tap);
        e.vstore(vector, to, e.add(base, e.mul(row, e.c(tiles.panelWidth()))));
      });
    });
  }

  bool linear() const {
    unsigned rank = conv.spatial() + 2;
    for (unsigned i = 0; i < rank; ++i)
      if (!dimStride(kernel.operands[0].offset, i, rank))
        return false;
    return true;
  }
};

} // namespace

void scheduleConvFirst(KernelBuilder &builder, const ConvGeometry &conv) {
  const TemplateKernel &kernel = builder.kernel;
  MLIRContext *context = kernel.op->getContext();
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  const Operand &x = kernel.operands[0], &w = kernel.operands[1];
  Type compute = accumulationType(kernel.resultElement());
  for (const ConvPhase &phase : conv.phases) {
    GemmCore core;
    Exprs counts;
    for (const ConvAxis &axis : phase.axes)
      counts.push_back(axis.count);
    int64_t taps = std::max<int64_t>(1, phase.taps()), depth = phase.taps() * conv.inChannels;
    core.batch = simplify(conv.images * conv.groups);
    core.m = getAffineConstantExpr(conv.outChannels, context);
    core.n = simplify(ir::product(context, counts));
    core.k = getAffineConstantExpr(depth, context);
    core.compute = compute;
    GemmShape shape = shapeOf(conv, phase, compute);
    core.tiles = builder.options.tiles ? *builder.options.tiles : chooseTiles(shape, builder.machine);
    // A gathered panel serves all output channels.
    core.tiles.rowTiles = std::max<int64_t>(1, (conv.outChannels + core.tiles.rows - 1) / core.tiles.rows);
    if (depth > core.tiles.kBlock)
      core.tiles.kBlock = std::max<int64_t>(1, core.tiles.kBlock / taps) * taps;

    AffineExpr image = d0.floorDiv(conv.groups), group = d0 % conv.groups;
    if (conv.groups == 1) {
      image = d0;
      group = getAffineConstantExpr(0, context);
    }
    // Weights as rows over (channel, taps).
    Exprs tapExtents;
    for (const ConvAxis &axis : phase.axes)
      tapExtents.push_back(getAffineConstantExpr(std::max<int64_t>(1, axis.taps), context));
    // The leading tap axis needs its remainder too: channels come before it.
    Exprs tap = delinearize(d2 % taps, tapExtents);
    Exprs weight = conv.weight(phase, tap, group, d2.floorDiv(taps), d1);
    AffineExpr wOffset = w.offset ? simplify(substitute(w.offset, weight)) : AffineExpr();
    auto row = wOffset ? dimStride(wOffset, 1, 3) : std::nullopt,
         column = wOffset ? dimStride(wOffset, 2, 3) : std::nullopt;
    int64_t bytes = compute.getIntOrFloatBitWidth() / 8;
    if (row && column && ir::getConstant(*row) && *ir::getConstant(*row) * bytes % 4096 != 0 &&
        ir::getConstant(*column) == 1 && w.element == compute) {
      core.aOffset = wOffset;
      core.aBuffer = w.argument;
    } else {
      core.packA = packRowsOf(kernel, w, weight, core.tiles.lanes);
    }

    // One tap, no stride and padding: channels by pixels as they lie in memory.
    Exprs pixel = delinearize(d2, counts), place;
    bool inPlace = x.offset && phase.taps() == 1;
    for (auto [axis, q] : llvm::zip_equal(phase.axes, pixel)) {
      place.push_back(q * axis.inStride + axis.tapOffset);
      inPlace &= axis.tapOffset == 0 && axis.inStride == 1 && axis.count == axis.in;
    }
    if (inPlace) {
      Exprs where = conv.position(image, delinearize(d2, counts), group * conv.inChannels + d1);
      AffineExpr offset = simplify(substitute(x.offset, where));
      auto n = dimStride(offset, 2, 3), k = dimStride(offset, 1, 3);
      if (n && k && ir::getConstant(*n) == 1) {
        core.b = GemmCore::B::InPlace;
        core.bOffset = offset;
        core.bBuffer = x.argument;
      }
    }
    if (core.b != GemmCore::B::InPlace) {
      core.b = GemmCore::B::Packed;
      core.bPackedType = storageType(x.element);
      core.packB = GatherPanel{kernel, conv, phase, core.tiles, core.bPackedType};
    }
    Exprs y = conv.output(phase, image, pixel, group * conv.outChannels + d1);
    core.unrollEpilogue = kernel.cheapEpilogue(y, 2, core.tiles.lanes);
    core.epilogue = [&kernel, y](Emit &e, const Frame &frame, Value g, Value m, Value n, Value value, int64_t lanes,
                                 Value count, Value mask) {
      Point point{{g, m, n}, frame.symbols, 2, lanes, count, mask};
      kernel.finish(e, frame, std::move(point), value, y);
    };
    core.layout();
    double flops = 2.0 * core.tiles.rowTiles * core.tiles.rows * core.tiles.panels * core.tiles.panelWidth() *
                   std::max<int64_t>(depth, 1);
    builder.noteTiles(core.tiles);
    builder.addLaunch("conv_first", builder.inputsAndResults(), core.items(), grainOf(flops), core.scratchBytes(),
                      [&](Emit &e, const Frame &frame) { core.emit(e, frame); });
  }
}

} // namespace tcc::codegen::gemm
