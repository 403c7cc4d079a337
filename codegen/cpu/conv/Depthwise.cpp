//===- Depthwise.cpp - one channel in and out of each group, channels last --===//
//
// Vectors run along channels. A work item is a line of the output; inside it a few neighbouring pixels at a time share
// the weights and, where windows overlap, the loads of the input.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/conv/Geometry.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {

bool isDepthwise(const ConvGeometry &conv) {
  return !conv.transposed && conv.channelsLast && conv.groups > 1 && conv.inChannels == 1 && conv.outChannels == 1 &&
         conv.phases.front().taps() > 0 && conv.phases.front().taps() <= 343;
}

namespace {

struct Depthwise {
  const TemplateKernel &kernel;
  const ConvGeometry &conv;
  int64_t lanes;
  Type compute;
  int weights;
  int64_t pixels; // at a time

  const ConvPhase &phase() const { return conv.phases.front(); }

  Value input(Emit &e, const Frame &frame, Value image, ArrayRef<Value> place, Value channel, Value count,
              Value mask) const {
    Values dims{image};
    dims.append(place.begin(), place.end());
    dims.push_back(channel);
    Exprs identity;
    for (unsigned i = 0; i < dims.size(); ++i)
      identity.push_back(getAffineDimExpr(i, e.b.getContext()));
    Point point{dims, frame.symbols, int(dims.size()) - 1, lanes, count, mask};
    return e.convert(kernel.evaluate(e, frame, point, kernel.operands[0].tensor, identity), compute);
  }

  // Sums of `width` pixels from column q on; `checked`: their windows may leave the line.
  Values sums(Emit &e, const Frame &frame, Value image, ArrayRef<Value> outer, Value q, int64_t width, bool checked,
              Value channel, Value weightBase, Value count, Value mask) const {
    const auto &axes = phase().axes;
    unsigned spatial = axes.size();
    const ConvAxis &last = axes.back();
    int64_t outerTaps = phase().taps() / last.taps;
    VectorType type = e.vector(compute, lanes);
    Values sum(width, e.zero(type));
    SmallVector<Type> types(width, type);
    auto line = [&](Value index, ValueRange init) -> Values {
      // A line of taps, if it lies in the input.
      Value inside = e.eq(e.c(0), e.c(0)), rest = index;
      Values place(spatial);
      for (unsigned a = spatial - 1; a-- > 0;) {
        Value t = e.rem(rest, e.c(axes[a].taps));
        rest = e.div(rest, e.c(axes[a].taps));
        place[a] = e.add(outer[a], e.mul(t, e.c(axes[a].tapStep)));
        Value extent = e.affineNonNegative(axes[a].in, {}, frame.symbols);
        inside = e.both(inside, e.both(e.ge(place[a], e.c(0)), e.lt(place[a], extent)));
      }
      return e.when(
          inside, types,
          [&] {
            Values result(init);
            Value extent = e.affineNonNegative(last.in, {}, frame.symbols);
            for (int64_t t = 0; t < last.taps; ++t) {
              Value at = e.add(weightBase, e.mul(e.add(e.mul(index, e.c(last.taps)), e.c(t)), e.c(lanes)));
              Value weight = e.convert(e.vload(frame.buffers[weights], at, lanes), compute);
              for (int64_t p = 0; p < width; ++p) {
                place[spatial - 1] =
                    e.add(e.mul(q, e.c(last.inStride)), e.c(p * last.inStride + last.tapOffset + t * last.tapStep));
                auto add = [&] {
                  return Values{e.fma(input(e, frame, image, place, channel, count, mask), weight, result[p])};
                };
                if (!checked) {
                  result[p] = add()[0];
                  continue;
                }
                Value here = e.both(e.ge(place[spatial - 1], e.c(0)), e.lt(place[spatial - 1], extent));
                result[p] = e.when(here, TypeRange{type}, add, [&] { return Values{result[p]}; })[0];
              }
            }
            return result;
          },
          [&] { return Values(init); });
    };
    if (outerTaps <= 7) {
      for (int64_t i = 0; i < outerTaps; ++i)
        sum = line(e.c(i), sum);
      return sum;
    }
    return e.loop(e.c(0), e.c(outerTaps), 1, sum, line);
  }

  void emit(Emit &e, const Frame &frame) const {
    const auto &axes = phase().axes;
    unsigned spatial = axes.size();
    const ConvAxis &last = axes.back();
    MLIRContext *context = e.b.getContext();
    int64_t channels = conv.groups;
    Exprs y;
    for (unsigned i = 0; i < spatial + 2; ++i)
      y.push_back(getAffineDimExpr(i, context));
    Value columns = e.affineNonNegative(last.count, {}, frame.symbols),
          extent = e.affineNonNegative(last.in, {}, frame.symbols);
    // Columns [q0, q1) whose windows lie inside: q * stride + tapOffset >= 0, and the last tap below the extent.
    Value q0 = e.min(columns, e.c((std::max<int64_t>(0, -last.tapOffset) + last.inStride - 1) / last.inStride));
    int64_t reach = last.tapOffset + (last.taps - 1) * last.tapStep;
    Value room = e.max(e.c(0), e.add(extent, e.c(last.inStride - 1 - reach)));
    Value q1 = e.max(q0, e.min(columns, e.div(room, e.c(last.inStride))));
    e.loop(frame.begin, frame.end, 1, [&](Value item) {
      Value rest = item;
      Values q(spatial), outer(spatial);
      for (unsigned a = spatial - 1; a-- > 0;) {
        Value count = e.affineNonNegative(axes[a].count, {}, frame.symbols);
        q[a] = e.rem(rest, count);
        rest = e.div(rest, count);
        outer[a] = e.add(e.mul(q[a], e.c(axes[a].inStride)), e.c(axes[a].tapOffset));
      }
      Value image = rest;
      auto channelVector = [&](Value channel, Value count) {
        Value mask = count ? e.maskOf(count, lanes) : Value();
        Value weightBase = e.mul(channel, e.c(phase().taps()));
        auto some = [&](Value column, int64_t width, bool checked) {
          Values result = sums(e, frame, image, outer, column, width, checked, channel, weightBase, count, mask);
          for (int64_t p = 0; p < width; ++p) {
            Values dims{image};
            dims.append(q.begin(), q.end() - 1);
            dims.push_back(e.add(column, e.c(p)));
            dims.push_back(channel);
            Point point{dims, frame.symbols, int(spatial) + 1, lanes, count, mask};
            kernel.finish(e, frame, std::move(point), result[p], y);
          }
        };
        e.loop(e.c(0), q0, 1, [&](Value column) { some(column, 1, true); });
        Value whole = e.add(q0, e.mul(e.div(e.sub(q1, q0), e.c(pixels)), e.c(pixels)));
        e.loop(q0, whole, pixels, [&](Value column) { some(column, pixels, false); });
        e.loop(whole, columns, 1, [&](Value column) { some(column, 1, true); });
      };
      int64_t full = channels / lanes * lanes;
      e.loop(e.c(0), e.c(full), lanes, [&](Value channel) { channelVector(channel, {}); });
      if (full < channels)
        channelVector(e.c(full), e.c(channels - full));
    });
  }
};

} // namespace

void scheduleDepthwise(KernelBuilder &builder, const ConvGeometry &conv) {
  const TemplateKernel &kernel = builder.kernel;
  MLIRContext *context = kernel.op->getContext();
  const ConvPhase &phase = conv.phases.front();
  Type compute = accumulationType(kernel.resultElement());
  int64_t lanes = std::max<int64_t>(1, builder.machine.vectorBits / compute.getIntOrFloatBitWidth());
  AffineExpr d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context),
             zero = getAffineConstantExpr(0, context);
  Exprs tapExtents;
  for (const ConvAxis &axis : phase.axes)
    tapExtents.push_back(getAffineConstantExpr(axis.taps, context));
  // Panels of one vector of channels, with a row for each tap.
  GemmTiles tiles;
  tiles.lanes = lanes;
  tiles.vectors = 1;
  PackedPanels panels =
      packPanels(builder, kernel.operands[1], conv.weight(phase, delinearize(d1, tapExtents), d2, zero, zero), false,
                 getAffineConstantExpr(1, context), getAffineConstantExpr(phase.taps(), context),
                 getAffineConstantExpr(conv.groups, context), tiles);
  Depthwise body{kernel, conv, lanes, compute, panels.buffer, builder.machine.registers >= 32 ? 8 : 4};
  Exprs lines{conv.images};
  for (const ConvAxis &axis : ArrayRef<ConvAxis>(phase.axes).drop_back())
    lines.push_back(axis.count);
  SmallVector<int> uses = builder.inputsAndResults();
  uses.push_back(panels.buffer);
  double flops = 2.0 * ir::getConstant(phase.axes.back().count).value_or(64) * conv.groups * phase.taps() * 3;
  // No line where there is no column: positions are never computed from an empty extent.
  builder.addLaunch("depthwise", uses, simplify(ir::product(context, lines)), grainOf(flops), 0,
                    [&](Emit &e, const Frame &frame) { body.emit(e, frame); });
}

} // namespace tcc::codegen::gemm
