//===- Conv.cpp - schedule of kernels around tcc.conv and tcc.conv_transpose -===//
#include "codegen/cpu/conv/Geometry.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {

GemmShape shapeOf(const ConvGeometry &conv, const ConvPhase &phase, Type compute) {
  Exprs counts;
  for (const ConvAxis &axis : phase.axes)
    counts.push_back(axis.count);
  AffineExpr pixels = ir::product(conv.images.getContext(), counts);
  int64_t depth = phase.taps() * conv.inChannels, bits = compute.getIntOrFloatBitWidth();
  if (!conv.channelsLast)
    return {ir::getConstant(simplify(conv.images * conv.groups)), conv.outChannels, ir::getConstant(simplify(pixels)),
            depth, bits};
  bool onePixel = phase.taps() == 1 && llvm::all_of(phase.axes, [](const ConvAxis &axis) {
                    return axis.tapOffset == 0 && axis.inStride == 1 && axis.count == axis.in;
                  });
  return {conv.groups, ir::getConstant(simplify(conv.images * pixels)), conv.outChannels, depth, bits, !onePixel};
}

bool canScheduleConv(const TemplateKernel &kernel) { return geometryOf(kernel).has_value(); }

std::optional<GemmShape> shapeOfConv(const TemplateKernel &kernel) {
  std::optional<ConvGeometry> conv = geometryOf(kernel);
  if (!conv || conv->phases.empty() || isDepthwise(*conv))
    return std::nullopt;
  return shapeOf(*conv, conv->phases.front(), accumulationType(kernel.resultElement()));
}

FailureOr<KernelCode> scheduleConv(KernelBuilder &builder) {
  ConvGeometry conv = *geometryOf(builder.kernel);
  if (isDepthwise(conv)) {
    scheduleDepthwise(builder, conv);
    return builder.take("depthwise");
  }
  if (conv.channelsLast)
    scheduleConvLast(builder, conv);
  else
    scheduleConvFirst(builder, conv);
  return builder.take("conv");
}

} // namespace tcc::codegen::gemm
