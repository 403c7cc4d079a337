//===- Conv.cpp - schedule of kernels around tcc.conv and tcc.conv_transpose -===//
//
// Convolutions are matrix products whose operands are read through windows (implicit gemm). Channels last: pixels by
// (taps, channels) times (taps, channels) by output channels. Channels first: output channels by (channels, taps) times
// (channels, taps) by pixels. A transposed convolution is one product for each residue of its strides.
//
//===----------------------------------------------------------------------===//
#include <cstring>

#include "codegen/cuda/extern/Cudnn.h"
#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/schedule/ElementTypes.h"
#include "codegen/schedule/template/ConvGeometry.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

bool isLinear(const gemm::Operand &x) {
  if (!x.offset)
    return false;
  for (unsigned i = 0, rank = x.extents.size(); i < rank; ++i)
    if (!gemm::dimStride(x.offset, i, rank))
      return false;
  return true;
}

// How packed weights lie: neighbours along k, or neighbours along the groups (for one thread a group).
enum class Packing { None, Depth, Groups };

// The weights of a phase as [groups, outputs, taps, inputs] or [outputs, taps, inputs, groups], from a constant that
// lies in memory as the op has it.
tcc::Tensor packWeights(const gemm::ConvGeometry &conv, const gemm::ConvPhase &phase, Packing packing,
                        ElementsAttr elements) {
  auto tensor = ir::toTensor(elements);
  if (!tensor.ok() || !tensor->is_contiguous())
    return {};
  size_t bytes = DTypeBytes(tensor->dtype(), 1);
  int64_t taps = phase.taps(), second = tensor->dim(1), kernel = 1;
  for (int axis = 2; axis < tensor->rank(); ++axis)
    kernel *= tensor->dim(axis);
  SmallVector<int64_t> places(taps);
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap, stride = 1;
    for (int axis = static_cast<int>(phase.axes.size()) - 1; axis >= 0; --axis) {
      const gemm::ConvAxis &a = phase.axes[axis];
      places[tap] += (rest % a.taps * a.kernelStep + a.kernelOffset) * stride;
      rest /= a.taps;
      stride *= tensor->dim(axis + 2);
    }
  }
  auto packed = tcc::Tensor::Allocate(tensor->dtype(), {conv.groups * conv.outChannels * taps * conv.inChannels});
  if (!packed.ok())
    return {};
  const char *from = static_cast<const char *>(tensor->data());
  char *to = static_cast<char *>(packed->data());
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t out = 0; out < conv.outChannels; ++out)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t in = 0; in < conv.inChannels; ++in) {
          int64_t row =
              conv.transposed ? (g * conv.inChannels + in) * second + out : (g * conv.outChannels + out) * second + in;
          int64_t k = tap * conv.inChannels + in, depth = taps * conv.inChannels;
          int64_t place = packing == Packing::Depth ? (g * conv.outChannels + out) * depth + k
                                                    : (out * depth + k) * conv.groups + g;
          std::memcpy(to + place * bytes, from + (row * kernel + places[tap]) * bytes, bytes);
        }
  return *packed;
}

struct PhaseProduct {
  KernelBuilder &builder;
  const gemm::ConvGeometry &conv;
  const gemm::ConvPhase &phase;
  MLIRContext *context = builder.context;
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context),
             zero = getAffineConstantExpr(0, context);
  int64_t taps = std::max<int64_t>(1, phase.taps());

  Exprs counts() const {
    Exprs all;
    for (const gemm::ConvAxis &axis : phase.axes)
      all.push_back(axis.count);
    return all;
  }
  // The taps of a number.
  Exprs tapsOf(AffineExpr tap) const {
    if (taps == 1)
      return Exprs(phase.axes.size(), zero);
    Exprs extents;
    for (const gemm::ConvAxis &axis : phase.axes)
      extents.push_back(getAffineConstantExpr(std::max<int64_t>(1, axis.taps), context));
    return gemm::delinearize(tap, extents);
  }
  // x at the windows of pixels `q`.
  OperandSpec input(AffineExpr image, ArrayRef<AffineExpr> q, ArrayRef<AffineExpr> tap, AffineExpr channel,
                    ArrayRef<AffineExpr> extents) const {
    Exprs place;
    SmallVector<Window> windows;
    for (auto [axis, position, t] : llvm::zip_equal(phase.axes, q, tap)) {
      AffineExpr at = gemm::simplify(position * axis.inStride + axis.tapOffset + t * axis.tapStep);
      place.push_back(at);
      // One tap that is always inside: the output has no more positions than fit.
      bool inside =
          axis.taps == 1 && axis.tapOffset == 0 && axis.inStride >= 1 &&
          (axis.inStride == 1 ? axis.count == axis.in
                              : axis.count == gemm::simplify((axis.in - 1).floorDiv(axis.inStride) + 1) || fits(axis));
      if (!inside)
        windows.push_back({at, axis.in});
    }
    OperandSpec spec = specOf(builder.kernel.operands[0], conv.position(image, place, channel), extents);
    spec.windows = std::move(windows);
    return spec;
  }
  static bool fits(const gemm::ConvAxis &axis) {
    auto count = ir::getConstant(axis.count), in = ir::getConstant(axis.in);
    return count && in && (*count - 1) * axis.inStride < *in;
  }
  // The weights, along k as `tap` and `channel` say; rows are output channels.
  OperandSpec weights(AffineExpr group, ArrayRef<AffineExpr> tap, AffineExpr channel, ArrayRef<AffineExpr> extents,
                      Packing packing) const {
    const gemm::Operand &w = builder.kernel.operands[1];
    BlockArgument argument =
        w.argument >= 0 ? builder.kernel.kernel.getBody().getArgument(w.argument) : BlockArgument();
    bool constant = argument && w.tensor == argument && w.argument < static_cast<int>(builder.constants.size()) &&
                    builder.constants[w.argument];
    if (constant && packing != Packing::None) {
      tcc::Tensor packed = packWeights(conv, phase, packing, builder.constants[w.argument]);
      if (packed.valid()) {
        OperandSpec spec;
        spec.element = w.element;
        spec.extents.assign(extents.begin(), extents.end());
        spec.buffer = builder.addConstant(packed, storageType(w.element));
        int64_t depth = phase.taps() * conv.inChannels;
        spec.offset = gemm::simplify(packing == Packing::Depth ? (group * conv.outChannels + d1) * depth + d2
                                                               : (d1 * depth + d2) * conv.groups + group);
        return spec;
      }
    }
    return specOf(w, conv.weight(phase, tap, group, channel, d1), extents);
  }

  bool isPacked(const Product &product) const {
    return (conv.channelsLast ? product.b : product.a).buffer != builder.kernel.operands[1].argument;
  }

  Product channelsLast(bool direct) const {
    Product product;
    Exprs all{conv.images};
    all.append(counts());
    product.batch = getAffineConstantExpr(conv.groups, context);
    product.m = gemm::simplify(ir::product(context, all));
    product.n = getAffineConstantExpr(conv.outChannels, context);
    product.k = getAffineConstantExpr(phase.taps() * conv.inChannels, context);
    AffineExpr group = conv.groups == 1 ? zero : d0;
    Exprs pixel = gemm::delinearize(d1, all);
    ArrayRef<AffineExpr> q = ArrayRef<AffineExpr>(pixel).drop_front();
    Exprs tap = tapsOf(d2.floorDiv(conv.inChannels));
    AffineExpr channel = taps == 1 ? d2 : d2 % conv.inChannels;
    if (conv.inChannels == 1) {
      tap = tapsOf(d2);
      channel = zero;
    }
    product.a = input(pixel[0], q, tap, group * conv.inChannels + channel, {product.batch, product.m, product.k});
    // Neighbours along k are far apart in memory where channels run fastest and the kernel has several taps.
    int64_t all_taps = 0;
    for (const gemm::ConvPhase &each : conv.phases)
      all_taps += each.taps();
    Packing packing = all_taps <= 1 || phase.taps() == 0 ? Packing::None
                      : direct                           ? Packing::Groups
                      : conv.inChannels == 1             ? Packing::None
                                                         : Packing::Depth;
    product.b = weights(group, tap, channel, {product.batch, product.n, product.k}, packing);
    product.result = conv.output(phase, pixel[0], q, group * conv.outChannels + d2);
    return product;
  }

  Product channelsFirst() const {
    Product product;
    product.batch = gemm::simplify(conv.images * conv.groups);
    product.m = getAffineConstantExpr(conv.outChannels, context);
    product.n = gemm::simplify(ir::product(context, counts()));
    product.k = getAffineConstantExpr(phase.taps() * conv.inChannels, context);
    AffineExpr image = conv.groups == 1 ? d0 : d0.floorDiv(conv.groups),
               group = conv.groups == 1 ? zero : d0 % conv.groups;
    // With more than one axis, the leading one of a tap's number needs its remainder: channels come before it.
    Exprs tap = tapsOf(d2 % taps);
    AffineExpr channel = taps == 1 ? d2 : d2.floorDiv(taps);
    product.a = weights(group, tap, channel, {product.batch, product.m, product.k}, Packing::None);
    product.b = input(image, gemm::delinearize(d1, counts()), tap, group * conv.inChannels + channel,
                      {product.batch, product.n, product.k});
    product.b.preferRow = true;
    product.result = conv.output(phase, image, gemm::delinearize(d2, counts()), group * conv.outChannels + d1);
    return product;
  }
};

} // namespace

bool canScheduleConv(const gemm::TemplateKernel &kernel) {
  return isLinear(kernel.operands[0]) && gemm::geometryOf(kernel).has_value();
}

FailureOr<KernelCode> scheduleConv(KernelBuilder &builder, const ScheduleOptions &options) {
  gemm::ConvGeometry conv = *gemm::geometryOf(builder.kernel);
  // So few channels of a group that a tile would be empty for the most part.
  constexpr int64_t kFewChannels = 4;
  bool direct = conv.groups > 1 && conv.inChannels <= kFewChannels && conv.outChannels <= kFewChannels;
  bool isPacked = true; // wherever weights are used
  for (const gemm::ConvPhase &phase : conv.phases) {
    PhaseProduct maker{builder, conv, phase};
    // Where the result is shorter than the stride, some residues have no positions.
    if (llvm::is_contained(maker.counts(), 0))
      continue;
    Product product = conv.channelsLast ? maker.channelsLast(direct) : maker.channelsFirst();
    isPacked = isPacked && maker.isPacked(product);
    if (!direct)
      if (auto call = cudnnCall(builder, conv, conv.channelsLast ? product.b : product.a, options.tf32))
        product.library = chooseLibrary(builder, *std::move(call), options);
    if (failed(direct ? launchDirect(builder, "conv_direct", product)
                      : launchProduct(builder, "conv", product, options)))
      return failure();
  }
  const gemm::Operand &weights = builder.kernel.operands[1];
  if (isPacked && weights.argument >= 0 && builder.kernel.kernel.getBody().getArgument(weights.argument).hasOneUse())
    builder.dropInput(weights.argument);
  return builder.take(direct ? "depthwise" : "conv");
}

} // namespace tcc::codegen::cuda
