//===- ConvLast.cpp - convolutions with channels last ----------------------===//
//
// A matrix product of pixels by output channels, summed over (taps, channels): a block of rows of A is gathered from
// the input into scratch memory when it is needed, so that there is never an im2col buffer, and padding and strides
// cost nothing afterwards. A row of taps is one run of memory where the last axis is not dilated.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/conv/Geometry.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

// Copies rows of A: for each pixel the channels of all its taps, zero outside the input.
struct Gather {
  const TemplateKernel &kernel;
  const ConvGeometry &conv;
  const ConvPhase &phase;
  int64_t lanes;
  Type compute;
  bool merged;      // a run is all taps of the last axis
  bool wholeRuns;   // blocks of K start and end at runs
  AffineExpr plain; // offset of (image, place..., channel) in memory, null for a computed operand

  int64_t runTaps() const { return merged ? phase.axes.back().taps : 1; }
  int64_t run() const { return std::max<int64_t>(1, runTaps() * conv.inChannels); }

  void operator()(Emit &e, const Frame &frame, Value g, Value row, Value rows, Value k, Value depth, Value to,
                  int64_t rowStride) const {
    unsigned spatial = conv.spatial();
    e.loop(e.c(0), rows, 1, [&](Value r) {
      // The pixel, and where its first tap lies.
      Value rest = e.add(row, r);
      Values start(spatial);
      for (unsigned i = spatial; i-- > 0;) {
        const ConvAxis &axis = phase.axes[i];
        Value extent = e.affineNonNegative(axis.count, {}, frame.symbols);
        Value q = e.rem(rest, extent);
        rest = e.div(rest, extent);
        start[i] = e.add(e.mul(q, e.c(axis.inStride)), e.c(axis.tapOffset));
      }
      Value image = rest, line = e.mul(r, e.c(rowStride));
      Value run = e.c(this->run());
      Value first = e.div(k, run), last = e.ceilDiv(e.add(k, depth), run);
      e.loop(first, last, 1, [&](Value s) { emitRun(e, frame, g, image, start, s, k, depth, to, line); });
    });
  }

  void emitRun(Emit &e, const Frame &frame, Value g, Value image, ArrayRef<Value> start, Value s, Value k, Value depth,
               Value to, Value line) const {
    unsigned spatial = conv.spatial();
    Value inside = e.eq(e.c(0), e.c(0)), rest = s;
    Values place(spatial);
    for (unsigned i = spatial; i-- > 0;) {
      const ConvAxis &axis = phase.axes[i];
      place[i] = start[i];
      if (merged && i + 1 == spatial)
        continue;
      Value t = e.rem(rest, e.c(axis.taps));
      rest = e.div(rest, e.c(axis.taps));
      place[i] = e.add(start[i], e.mul(t, e.c(axis.tapStep)));
      Value extent = e.affineNonNegative(axis.in, {}, frame.symbols);
      inside = e.both(inside, e.both(e.ge(place[i], e.c(0)), e.lt(place[i], extent)));
    }
    // The part [c0, c1) of the run that lies in this block of K, and the part [v0, v1) that lies in the input.
    int64_t length = run();
    Value runStart = e.mul(s, e.c(length));
    Value c0 = e.c(0), c1 = e.c(length);
    if (!wholeRuns) {
      c0 = e.max(c0, e.sub(k, runStart));
      c1 = e.min(c1, e.sub(e.add(k, depth), runStart));
    }
    Value v0 = e.c(0), v1 = e.c(length);
    if (merged) {
      Value extent = e.affineNonNegative(phase.axes.back().in, {}, frame.symbols);
      Value channels = e.c(conv.inChannels);
      v0 = e.mul(e.max(e.c(0), e.sub(e.c(0), place.back())), channels);
      v1 = e.mul(e.min(e.c(runTaps()), e.sub(extent, place.back())), channels);
      inside = e.both(inside, e.lt(v0, v1));
      // A run that is cut off is not inside as a whole, but for its mask.
    }
    Value target = e.add(line, e.sub(runStart, k));
    Value channel = e.mul(g, e.c(conv.inChannels));
    Value base;
    if (plain) {
      Values dims{image};
      dims.append(place);
      dims.push_back(channel);
      base = e.affine(plain, dims, frame.symbols);
    }
    auto zeros = [&] {
      e.loop(c0, c1, lanes, [&](Value c) { e.vstore(e.zero(e.vector(compute, lanes)), to, e.add(target, c)); });
    };
    auto value = [&](Value c, Value count) -> Value {
      if (plain)
        return e.vload(frame.buffers[kernel.operands[0].argument], e.add(base, c), lanes,
                       count ? e.maskOf(count, lanes) : Value());
      Values dims{image};
      dims.append(place);
      dims.push_back(e.add(channel, c));
      Exprs identity;
      for (unsigned i = 0; i < dims.size(); ++i)
        identity.push_back(getAffineDimExpr(i, e.b.getContext()));
      Point point{dims, frame.symbols, int(dims.size()) - 1, lanes, count, count ? e.maskOf(count, lanes) : Value()};
      return kernel.evaluate(e, frame, point, kernel.operands[0].tensor, identity);
    };
    auto whole = [&] {
      Value full = e.add(c0, e.mul(e.div(e.sub(c1, c0), e.c(lanes)), e.c(lanes)));
      e.loop(c0, full, lanes, [&](Value c) { e.vstore(e.convert(value(c, {}), compute), to, e.add(target, c)); });
      e.when(e.lt(full, c1),
             [&] { e.vstore(e.convert(value(full, e.sub(c1, full)), compute), to, e.add(target, full)); });
    };
    if (!merged)
      return e.when(inside, whole, zeros);
    auto cut = [&] {
      e.loop(c0, c1, lanes, [&](Value c) {
        Value below = e.maskOf(e.sub(v0, c), lanes), within = e.maskOf(e.sub(e.min(v1, c1), c), lanes);
        Value none = e.zero(below.getType());
        Value outside = e.b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::eq, below, none);
        Value loaded =
            e.vload(frame.buffers[kernel.operands[0].argument], e.add(base, c), lanes, e.both(within, outside));
        e.vstore(e.convert(loaded, compute), to, e.add(target, c));
      });
    };
    Value complete = e.both(e.eq(v0, e.c(0)), e.eq(v1, e.c(length)));
    e.when(inside, [&] { e.when(complete, whole, cut); }, zeros);
  }
};

} // namespace

void scheduleConvLast(KernelBuilder &builder, const ConvGeometry &conv) {
  const TemplateKernel &kernel = builder.kernel;
  MLIRContext *context = kernel.op->getContext();
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  const Operand &x = kernel.operands[0];
  unsigned spatial = conv.spatial();
  Type compute = accumulationType(kernel.resultElement());

  // Where the operand is memory with channels next to each other: its offset.
  AffineExpr plain;
  if (x.offset && dimStride(x.offset, spatial + 1, spatial + 2) == getAffineConstantExpr(1, context)) {
    bool linear = true;
    for (unsigned i = 0; i < spatial + 2; ++i)
      linear &= dimStride(x.offset, i, spatial + 2).has_value();
    if (linear)
      plain = x.offset;
  }

  std::vector<GemmCore> cores(conv.phases.size());
  for (auto [phase, core] : llvm::zip_equal(conv.phases, cores)) {
    Exprs rows{conv.images};
    for (const ConvAxis &axis : phase.axes)
      rows.push_back(axis.count);
    core.batch = getAffineConstantExpr(conv.groups, context);
    core.m = simplify(ir::product(context, rows));
    core.n = getAffineConstantExpr(conv.outChannels, context);
    core.k = getAffineConstantExpr(phase.taps() * conv.inChannels, context);
    core.compute = compute;
    GemmShape shape = shapeOf(conv, phase, compute);
    core.tiles = builder.options.tiles ? *builder.options.tiles : chooseTiles(shape, builder.machine);

    // Read in place: no padding, no strides, one tap.
    Exprs pixel = delinearize(d1, rows);
    Exprs place;
    bool inPlace = plain && phase.taps() == 1 && shape.m && x.element == compute;
    for (auto [axis, q] : llvm::zip_equal(phase.axes, ArrayRef<AffineExpr>(pixel).drop_front())) {
      place.push_back(q * axis.inStride + axis.tapOffset);
      inPlace &= axis.tapOffset == 0 && axis.inStride == 1 && axis.count == axis.in;
    }
    if (inPlace) {
      AffineExpr offset = simplify(substitute(plain, conv.position(pixel[0], place, d0 * conv.inChannels + d2)));
      auto rowStride = dimStride(offset, 1, 3);
      int64_t bytes = compute.getIntOrFloatBitWidth() / 8;
      if (auto stride = rowStride ? ir::getConstant(*rowStride) : std::nullopt; stride && *stride * bytes % 4096 != 0) {
        core.aOffset = offset;
        core.aBuffer = x.argument;
      }
    }
    if (!core.aOffset) {
      const ConvAxis &last = phase.axes.back();
      auto step = plain ? dimStride(plain, spatial, spatial + 2) : std::nullopt;
      bool merged =
          step && conv.groups == 1 && last.tapStep == 1 && last.taps > 1 && ir::getConstant(*step) == conv.inChannels;
      Gather gather{kernel, conv, phase, core.tiles.lanes, compute, merged, true, plain};
      int64_t run = std::max<int64_t>(1, gather.run()), depth = phase.taps() * conv.inChannels;
      if (depth > core.tiles.kBlock) {
        if (run <= core.tiles.kBlock)
          core.tiles.kBlock = core.tiles.kBlock / run * run;
        else if (plain)
          gather.wholeRuns = false;
        else
          core.tiles.kBlock = run;
      }
      core.packA = gather;
    }

    // Weights: (g, k, n) with k = (taps, channels).
    SmallVector<AffineExpr> tapExtents;
    for (const ConvAxis &axis : phase.axes)
      tapExtents.push_back(getAffineConstantExpr(std::max<int64_t>(1, axis.taps), context));
    int64_t channels = std::max<int64_t>(1, conv.inChannels);
    Exprs weight = conv.weight(phase, delinearize(d1.floorDiv(channels), tapExtents), d0, d1 % channels, d2);
    PackedPanels panels =
        packPanels(builder, kernel.operands[1], weight, conv.groups > 1, core.batch, core.k, core.n, core.tiles);
    core.bBuffer = panels.buffer;
    core.bBatched = panels.batched;

    Exprs y = conv.output(phase, pixel[0], ArrayRef<AffineExpr>(pixel).drop_front(), d0 * conv.outChannels + d2);
    core.unrollEpilogue = kernel.cheapEpilogue(y, 2, core.tiles.lanes);
    core.epilogue = [&kernel, y](Emit &e, const Frame &frame, Value g, Value m, Value n, Value value, int64_t lanes,
                                 Value count, Value mask) {
      Point point{{g, m, n}, frame.symbols, 2, lanes, count, mask};
      kernel.finish(e, frame, std::move(point), value, y);
    };
    core.layout();
  }
  for (GemmCore &core : cores) {
    SmallVector<int> uses = builder.inputsAndResults();
    if (core.bBuffer >= kernel.numInputs() + static_cast<int>(kernel.outputs.size()))
      uses.push_back(core.bBuffer);
    double flops = 2.0 * core.tiles.rowTiles * core.tiles.rows * core.tiles.panels * core.tiles.panelWidth() *
                   static_cast<double>(ir::getConstant(core.k).value_or(512));
    builder.noteTiles(core.tiles);
    builder.addLaunch("conv", uses, core.items(), grainOf(flops), core.scratchBytes(),
                      [&](Emit &e, const Frame &frame) { core.emit(e, frame); });
  }
}

} // namespace tcc::codegen::gemm
