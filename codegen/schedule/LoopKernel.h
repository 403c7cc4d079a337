//===- LoopKernel.h - kernels made of loops -----------------------*- C++ -*-===//
//
// What all targets do with kernels that hold tcc.loops only. Loops that share their outer parallel dimensions and hand
// values to one another only within one point of these become one function (softmax, normalisations); others are
// functions of their own, with temporaries between. The updates of a tcc.scatter are one such function, which works on
// what the function before has left in the result's place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/Target.h"
#include "codegen/schedule/LoopGroups.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tcc::codegen {

/// Whether the kernel has no template op but tcc.scatter, and only element types and ops that bodies can be made of.
/// Why not, otherwise.
bool isLoopKernel(ir::KernelOp kernel, std::string *why = nullptr);

/// Where the tensors of a kernel are, by position among its buffers (see KernelCode).
struct KernelTensors {
  llvm::DenseMap<mlir::Value, int32_t> buffer;
  /// Further results that are the same value.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int32_t>> copies;
  int32_t nextTemporary = 0;
};

/// The nests of a group, their dimensions merged, and what they need.
struct GroupNests {
  GroupNests(const LoopGroup &group, KernelTensors &tensors);

  /// Results that may overwrite inputs.
  void findInPlace(unsigned numInputs, llvm::SmallVectorImpl<std::pair<int32_t, int32_t>> &pairs);

  const LoopGroup &group;
  KernelTensors &tensors;
  bool mayAlias = false; ///< findInPlace() found some
  bool mayFail = false;  ///< a body reports errors
  std::vector<LoopNest> nests;
  llvm::SmallVector<unsigned> symbols;                    ///< that the nests name, by position in tcc.symbols
  llvm::MapVector<mlir::Value, int32_t> used;             ///< tensors in memory -> buffer position
  llvm::MapVector<mlir::Value, mlir::AffineExpr> scratch; ///< tensors that stay within a row -> byte offset
  llvm::DenseSet<mlir::Value> registers;                  ///< tensors of one element in a row
  mlir::AffineExpr scratchBytes;                          ///< of a row

private:
  void planScratch(mlir::MLIRContext *context);
};

/// Schedules a kernel for which isLoopKernel() holds: `emit` appends the launches of a group, and temporaries if it
/// needs any, under names that begin with a hint.
using EmitGroup = llvm::function_ref<mlir::LogicalResult(GroupNests &nests, llvm::StringRef name, KernelCode &code)>;
mlir::FailureOr<KernelCode> scheduleGroups(ir::KernelOp kernel, llvm::ArrayRef<LoopGroup> groups, EmitGroup emit);

} // namespace tcc::codegen
