//===- InterpretScalars.h - arith and math ops on one element ---*- C++ -*-===//
#pragma once

#include "absl/status/statusor.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace tcc::ir {

/// A scalar of the type its mlir::Value has. Integers and index: in `integer`, sign-extended (i1: 0 or 1). Floats: in
/// `number`, rounded to the type.
struct Scalar {
  int64_t integer = 0;
  double number = 0;
};

/// The integer as one of `width` bits: wrapped, then in Scalar's form.
int64_t wrap(int64_t value, unsigned width);
/// The number rounded to a float type.
double roundTo(double value, mlir::Type type);
/// Width of an integer type; 64 for index.
unsigned widthOf(mlir::Type type);

/// The result of an arith or math op on scalars. Floats are computed in double and rounded once. Errors: an op that is
/// not known here, an integer division by zero.
absl::StatusOr<Scalar> evaluateScalar(mlir::Operation *op, llvm::ArrayRef<Scalar> operands);

} // namespace tcc::ir
