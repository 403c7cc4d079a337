//===- Conv.cpp - schedule of kernels around tcc.conv and tcc.conv_transpose -===//
#include "codegen/cpu/conv/Geometry.h"

using namespace mlir;

namespace tcc::codegen::gemm {

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
