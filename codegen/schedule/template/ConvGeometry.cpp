//===- ConvGeometry.cpp ---------------------------------------------------===//
#include "codegen/schedule/template/ConvGeometry.h"

#include <numeric>

#include "ir/Extents.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen::gemm {

int64_t ConvPhase::taps() const {
  int64_t count = 1;
  for (const ConvAxis &axis : axes)
    count *= axis.taps;
  return count;
}

Exprs ConvGeometry::weight(const ConvPhase &phase, ArrayRef<AffineExpr> tap, AffineExpr g, AffineExpr in,
                           AffineExpr out) const {
  Exprs at;
  if (transposed)
    at = {g * inChannels + in, out};
  else
    at = {g * outChannels + out, in};
  for (auto [axis, t] : llvm::zip_equal(phase.axes, tap))
    at.push_back(t * axis.kernelStep + axis.kernelOffset);
  return at;
}

Exprs ConvGeometry::position(AffineExpr image, ArrayRef<AffineExpr> place, AffineExpr channel) const {
  Exprs at{image};
  if (!channelsLast)
    at.push_back(channel);
  at.append(place.begin(), place.end());
  if (channelsLast)
    at.push_back(channel);
  return at;
}

Exprs ConvGeometry::output(const ConvPhase &phase, AffineExpr image, ArrayRef<AffineExpr> q, AffineExpr channel) const {
  Exprs place;
  for (auto [axis, position] : llvm::zip_equal(phase.axes, q))
    place.push_back(position * axis.outStride + axis.outOffset);
  return position(image, place, channel);
}

// The taps of a transposed convolution's axis that meet outputs at `residue` modulo the stride: output o takes input
// (o + low - k * dilation) / stride from every k that makes this whole.
static ConvAxis phaseAxis(AffineExpr in, AffineExpr out, int64_t kernel, int64_t stride, int64_t low, int64_t dilation,
                          int64_t residue) {
  ConvAxis axis;
  axis.in = in;
  axis.count = simplify((out - residue + (stride - 1)).floorDiv(stride));
  axis.outStride = stride;
  axis.outOffset = residue;
  axis.kernelStep = stride / std::gcd(stride, dilation);
  axis.tapStep = -(axis.kernelStep * dilation / stride);
  int64_t first = 0;
  while (first < axis.kernelStep && llvm::mod(residue + low - first * dilation, stride) != 0)
    ++first;
  axis.kernelOffset = first;
  if (first < axis.kernelStep && first < kernel) {
    axis.taps = (kernel - first + axis.kernelStep - 1) / axis.kernelStep;
    axis.tapOffset = llvm::divideFloorSigned(residue + low - first * dilation, stride);
  }
  return axis;
}

template <typename Op> static std::optional<ConvGeometry> geometry(const TemplateKernel &kernel, Op op) {
  ConvGeometry conv;
  conv.transposed = std::is_same_v<Op, ir::ConvTransposeOp>;
  conv.channelsLast = op.getChannelsLast();
  conv.groups = op.getGroups();
  const Exprs &x = kernel.operands[0].extents, &w = kernel.operands[1].extents, &y = kernel.resultExtents;
  unsigned rank = x.size(), spatial = rank - 2, channel = conv.channelsLast ? rank - 1 : 1,
           first = conv.channelsLast ? 1 : 2;
  conv.images = x[0];
  auto in = ir::getConstant(x[channel]), out = ir::getConstant(y[channel]);
  if (!in || !out || conv.groups <= 0 || spatial == 0)
    return std::nullopt;
  conv.inChannels = *in / conv.groups;
  conv.outChannels = *out / conv.groups;
  SmallVector<int64_t> kernelExtents;
  for (unsigned i = 0; i < spatial; ++i) {
    auto extent = ir::getConstant(w[2 + i]);
    if (!extent)
      return std::nullopt;
    kernelExtents.push_back(*extent);
  }
  ArrayRef<int64_t> strides = op.getStrides(), low = op.getPaddingLow(), dilations = op.getDilations();
  if (!conv.transposed) {
    ConvPhase phase;
    for (unsigned i = 0; i < spatial; ++i) {
      ConvAxis axis;
      axis.in = x[first + i];
      axis.count = y[first + i];
      axis.inStride = strides[i];
      axis.tapOffset = -low[i];
      axis.tapStep = dilations[i];
      axis.taps = kernelExtents[i];
      phase.axes.push_back(axis);
    }
    conv.phases.push_back(std::move(phase));
    return conv;
  }
  int64_t count = 1;
  for (int64_t stride : strides)
    count *= stride;
  if (count > 64)
    return std::nullopt;
  for (int64_t p = 0; p < count; ++p) {
    ConvPhase phase;
    int64_t rest = p;
    for (unsigned i = 0; i < spatial; ++i) {
      phase.axes.push_back(
          phaseAxis(x[first + i], y[first + i], kernelExtents[i], strides[i], low[i], dilations[i], rest % strides[i]));
      rest /= strides[i];
    }
    // No tap along one axis is no tap at all.
    if (phase.taps() == 0)
      for (ConvAxis &axis : phase.axes)
        axis.taps = 0;
    conv.phases.push_back(std::move(phase));
  }
  return conv;
}

std::optional<ConvGeometry> geometryOf(const TemplateKernel &kernel) {
  if (auto conv = dyn_cast<ir::ConvOp>(kernel.op))
    return geometry(kernel, conv);
  return geometry(kernel, cast<ir::ConvTransposeOp>(kernel.op));
}

} // namespace tcc::codegen::gemm
