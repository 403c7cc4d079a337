//===- Geometry.h - schedules of convolutions on CPUs --------------*- C++ -*-===//
#pragma once

#include "codegen/cpu/gemm/Schedule.h"
#include "codegen/schedule/template/ConvGeometry.h"

namespace tcc::codegen::gemm {

/// The matrix product that a phase is, as the schedules below arrange it.
GemmShape shapeOf(const ConvGeometry &conv, const ConvPhase &phase, mlir::Type compute);

void scheduleConvLast(KernelBuilder &builder, const ConvGeometry &conv);
void scheduleConvFirst(KernelBuilder &builder, const ConvGeometry &conv);
/// One channel in and out of each group, channels last.
bool isDepthwise(const ConvGeometry &conv);
void scheduleDepthwise(KernelBuilder &builder, const ConvGeometry &conv);

} // namespace tcc::codegen::gemm
