//===- NarrowIntegers.h - int32 products of 8-bit integers --------*- C++ -*-===//
//
// Tensor cores multiply 8-bit integers, of either sign, with int32 sums. A product of int32 is of that kind where each
// operand is 8-bit integers in memory, widened, less a zero point that does not change along k; or a constant whose
// values span no more than 256 numbers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/gemm/Schedule.h"

namespace tcc::codegen::cuda {

/// An element of a kernel argument, at an offset over the operand's dimensions; or a constant.
struct NarrowValue {
  int argument = -1;
  mlir::AffineExpr offset;
  unsigned bits = 0;
  bool isUnsigned = false;
  int64_t constant = 0;
};
struct NarrowOperand {
  NarrowValue value;               ///< 8 bits in memory
  std::optional<NarrowValue> zero; ///< subtracted
};

/// How an operand is made of 8-bit integers; nothing where it is not.
std::optional<NarrowOperand> narrowOf(const gemm::Operand &operand);

/// Makes the operands of an int32 product those of tensor cores where both can be. `a` and `b`: their coordinates over
/// (g, row, k).
void narrowProduct(KernelBuilder &builder, Product &product, llvm::ArrayRef<mlir::AffineExpr> a,
                   llvm::ArrayRef<mlir::AffineExpr> b);

} // namespace tcc::codegen::cuda
