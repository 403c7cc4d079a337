//===- Cost.h - estimates of work and traffic --------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Operation.h"
#include <string>

namespace tcc::codegen {

struct Cost {
  double flops = 0;
  double bytes = 0;
  /// The same as expressions over the function's symbols, in postfix with blanks between: numbers, "s0:2" (symbol 0,
  /// whose smallest value is 2), and + * / (rounded down) ceil (division rounded up) %. Empty where it is a constant.
  std::string flopsText = {}, bytesText = {};
};

/// What a level-1 op or a tcc.kernel costs: floating point operations (a multiply-add counts two, a transcendental
/// function eight) and bytes of operands and results. Symbols count with the smallest value of their range (at least
/// 1).
Cost estimateCost(mlir::Operation *op);

/// The extent as a number, by the same rule.
double estimateElements(mlir::Type tensorType, mlir::Operation *context);

} // namespace tcc::codegen
