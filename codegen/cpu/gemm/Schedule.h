//===- Schedule.h - schedules of kernels around a template op -----*- C++ -*-===//
//
// The entry points for the CPU target: whether a kernel with a matmul, conv, conv_transpose or attention has a
// schedule, and the schedule.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/Target.h"
#include "codegen/cpu/Backend.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/gemm/GemmCore.h"
#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::gemm {

struct ScheduleOptions {
  std::optional<GemmTiles> tiles = std::nullopt; ///< instead of the kernel's own and of the heuristic choice
};
/// A kernel's own tiles, found by measurement: the attribute `tcc.gemm_tiles`, which schedule() obeys.
void setTiles(ir::KernelOp kernel, const GemmTiles &tiles);
std::optional<GemmTiles> getTiles(ir::KernelOp kernel);
Machine machineOf(const CpuDescription &cpu);

/// Whether there is a schedule. Cheap, no side effects.
bool canSchedule(ir::KernelOp kernel);

/// Makes the kernel's functions and says how to launch them. Reports an error at the kernel's location where
/// canSchedule is false.
mlir::FailureOr<KernelCode> schedule(ir::KernelOp kernel, ConstantInputs constants, const ScheduleOptions &options,
                                     Backend &backend);

/// The schedules here, for CpuTargetOptions::templates.
CpuTemplate templateSchedule(ScheduleOptions options = {});

/// Tiles worth measuring for a matmul or conv kernel, the heuristic choice first; empty for others.
std::vector<GemmTiles> scheduleCandidates(ir::KernelOp kernel, const CpuDescription &cpu);

/// Builds the launches of one kernel: numbers temporaries and constants, and passes each function what it uses.
class KernelBuilder {
public:
  KernelBuilder(const TemplateKernel &kernel, ConstantInputs constants, const ScheduleOptions &options,
                Backend &backend);

  const TemplateKernel &kernel;
  ConstantInputs constants;
  const ScheduleOptions &options;
  Machine machine;

  /// Positions in the kernel's argument list. All temporaries come before all constants: add none after the first
  /// constant.
  int addTemporary(mlir::AffineExpr elements, mlir::Type element);
  int addConstant(tcc::Tensor tensor, mlir::Type element);
  void dropInput(int input) {
    if (!dropped(input))
      code.unusedInputs.push_back(input);
  }
  bool dropped(int input) const { return llvm::is_contained(code.unusedInputs, input); }

  /// `uses`: positions of the arguments that the function reads or writes. The frame has null for all others.
  void addLaunch(llvm::StringRef name, llvm::ArrayRef<int> uses, mlir::AffineExpr items, int64_t grain,
                 int64_t scratchBytes, llvm::function_ref<void(Emit &, const Frame &)> body);
  /// For logs: the tiles of a product.
  void noteTiles(const GemmTiles &tiles);
  /// Inputs (but dropped ones) and results.
  llvm::SmallVector<int> inputsAndResults() const;
  KernelCode take(llvm::StringRef schedule);

private:
  Backend &backend;
  KernelCode code;
  llvm::SmallVector<mlir::Type> elements; ///< storage type of each argument
};

/// Least number of items worth a thread, from what an item costs.
int64_t grainOf(double itemFlops);

/// Panels of B for GemmCore, from an operand of the kernel. `coordinate` is the operand's index in terms of (g, k, n).
/// Packed at compile time if the operand is a plain read of a constant, otherwise by a launch of its own.
struct PackedPanels {
  int buffer = -1;
  bool batched = true;
};
PackedPanels packPanels(KernelBuilder &builder, const Operand &operand, llvm::ArrayRef<mlir::AffineExpr> coordinate,
                        bool batched, mlir::AffineExpr batch, mlir::AffineExpr k, mlir::AffineExpr n,
                        const GemmTiles &tiles);
bool isConstantOperand(const KernelBuilder &builder, const Operand &operand);

mlir::FailureOr<KernelCode> scheduleMatmul(KernelBuilder &builder);
mlir::FailureOr<KernelCode> scheduleConv(KernelBuilder &builder);
mlir::FailureOr<KernelCode> scheduleAttention(KernelBuilder &builder);
GemmShape shapeOfMatmul(const TemplateKernel &kernel);
/// Of the first phase of a convolution; nothing where it is no matrix product.
std::optional<GemmShape> shapeOfConv(const TemplateKernel &kernel);
bool canScheduleConv(const TemplateKernel &kernel);
bool canScheduleAttention(const TemplateKernel &kernel);

} // namespace tcc::codegen::gemm
