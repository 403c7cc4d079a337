//===- OperandText.h - operands of device templates as structs ----*- C++ -*-===//
//
// An operand of a matrix product is indexed by (g, row, k), dimensions d0, d1, d2; "row" is a column of B. What it is
// in the text is described in codegen/cuda/device/tcc/gemm_tile.cuh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/gemm/KernelText.h"

namespace tcc::codegen::cuda {

/// A position that has to be in [0, extent), else the element is zero.
struct Window {
  mlir::AffineExpr position, extent;
};

struct OperandSpec {
  mlir::Type element;
  bool isUnsigned = false; ///< 8 bits without a sign
  Exprs extents;           ///< of g, row and k
  /// In memory: the kernel argument, and the offset in it over (g, row, k).
  int buffer = -1;
  mlir::AffineExpr offset;
  llvm::SmallVector<Window> windows;
  /// Otherwise: a tensor of the kernel's body, computed at this coordinate over (g, row, k).
  mlir::Value tensor;
  Exprs coordinate;
  /// Neighbours in shared memory lie along k, whatever lies in memory.
  bool forceAlongK = false;
  /// Where no direction has neighbours in memory: whether most are along the row.
  bool preferRow = false;

  /// How many elements lie next to each other in aligned groups, along k or along the row.
  struct Access {
    bool alongK = true;
    int vector = 1;
  };
  Access access(mlir::ArrayAttr symbols) const;
};

/// The operand of a template read at a coordinate over (g, row, k).
OperandSpec specOf(const gemm::Operand &operand, llvm::ArrayRef<mlir::AffineExpr> coordinate,
                   llvm::ArrayRef<mlir::AffineExpr> extents);

/// Defines the struct; returns the expression that makes it in the entry point.
mlir::FailureOr<std::string> defineOperand(KernelText &text, llvm::StringRef name, const OperandSpec &operand);

} // namespace tcc::codegen::cuda
