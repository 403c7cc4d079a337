//===- Schedule.h - schedules around template ops for CUDA --------*- C++ -*-===//
//
// Kernels with a matmul, conv, conv_transpose or attention: each becomes launches of a template of the device library
// (codegen/cuda/device/tcc), with the kernel's prologue and epilogue as functors. float32 and float64 are computed as
// such, float16 and bfloat16 on tensor cores with float32 sums, int32 as such, or on tensor cores where its operands
// are 8-bit integers, less zero points.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string_view>

#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/gemm/KernelText.h"
#include "codegen/cuda/gemm/OperandText.h"
#include "codegen/cuda/gemm/Tiles.h"

namespace tcc::codegen::cuda {

struct ScheduleOptions {
  /// Products and convolutions of float32 may round their operands to tf32 (10 bits of mantissa): on tensor cores.
  bool tf32 = false;
  /// wgmma where it fits (sm_90a, operands that lie along k): a candidate, which has been on no GPU.
  bool wgmma = false;
  /// The same with tiles that TMA loads, where it can.
  bool tma = false;
  /// Calls of libraries in place of kernels (extern/Library.h): where they are measured to be faster, and, where a
  /// library of that name is found on the machine whose GPU the code is for, where the rules prefer them. Null:
  /// nowhere.
  bool libraries = true;
  std::function<bool(std::string_view name)> findsLibrary = nullptr;
};

/// The schedules here, for CudaTargetOptions::templates.
CudaTemplate templateSchedule(ScheduleOptions options = {});

/// Whether there is a schedule. Cheap, no side effects.
bool canSchedule(ir::KernelOp kernel, const CudaDescription &device);
/// Reports an error at the kernel's location where canSchedule is false.
mlir::FailureOr<KernelCode> schedule(ir::KernelOp kernel, ConstantInputs constants, CudaBackend &backend,
                                     ScheduleOptions options = {});

mlir::FailureOr<KernelCode> scheduleMatmul(KernelBuilder &builder, const ScheduleOptions &options);
bool canScheduleConv(const gemm::TemplateKernel &kernel);
mlir::FailureOr<KernelCode> scheduleConv(KernelBuilder &builder, const ScheduleOptions &options);
bool canScheduleAttention(const gemm::TemplateKernel &kernel, const CudaDescription &device);
mlir::FailureOr<KernelCode> scheduleAttention(KernelBuilder &builder);

/// A product to be launched: results (g, m, n), d0 to d2.
struct Product {
  mlir::AffineExpr batch, m, n, k;
  OperandSpec a, b; ///< over (g, m, k) and (g, n, k)
  Exprs result;     ///< coordinate of the template's result
  /// What is subtracted from the operands of an integer product: C++ expressions over (g, row) and (g, column); empty:
  /// nothing. `zeroBuffers`: what they read.
  std::string zeroA = {}, zeroB = {};
  llvm::SmallVector<int> zeroBuffers = {};
  /// A call that does the same.
  LibraryCall library = {};
};
/// "  const Extents<Index> extents{...};"
std::string extentsText(KernelText &text, const Product &product, int splits);
/// Along which dimension the outputs of the first result are next to each other: 0 to 2.
unsigned fastestDim(const gemm::TemplateKernel &kernel, const Product &product);
/// For people.
std::string describe(const GemmChoice &choice);

/// With tiles; sums that several blocks share take a temporary and counters.
mlir::LogicalResult launchProduct(KernelBuilder &builder, llvm::StringRef name, const Product &product,
                                  const ScheduleOptions &options);
/// Whether TMA can load the operands' tiles: 16-bit floats in memory along k or along rows, in lines that start at
/// multiples of 16 bytes, on a device that has it.
bool canLoadByTma(const KernelBuilder &builder, const Product &product);
/// With tiles that TMA loads; for products that canLoadByTma.
mlir::LogicalResult launchByTma(KernelBuilder &builder, llvm::StringRef name, const Product &product,
                                const GemmChoice &choice);
/// One thread for each result.
mlir::LogicalResult launchDirect(KernelBuilder &builder, llvm::StringRef name, const Product &product);

} // namespace tcc::codegen::cuda
