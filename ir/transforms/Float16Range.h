//===- Float16Range.h - which values a float16 cannot hold ----------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::ir {

/// Follows constants that float16 cannot hold through the ops that compute with them. Activations count as numbers that
/// fit, as whoever asks for float16 says: only what a constant makes of them is found.
class Float16Range {
public:
  /// Visits `op` after the ops that define its operands.
  void visit(mlir::Operation *op);
  /// Whether `op` must compute in float32: a constant it uses, or what constants make of its operands, does not fit.
  bool needsFloat32(mlir::Operation *op) const;
  /// Whether a value may be beyond the largest float16.
  bool isLarge(mlir::Value value) const {
    const Range range = rangeOf(value);
    return range.below || range.above;
  }

private:
  struct Range {
    bool below = false, above = false; ///< may be finite and less than the lowest, more than the largest float16
    bool tiny = false;                 ///< a constant whose numbers are 0 or lose bits, or all of them, as denormals
    bool guarded = false;              ///< kept away from 0 by such a constant only
  };
  static Range rangeOfConstant(mlir::Operation *op);
  Range rangeOf(mlir::Value value) const { return ranges.lookup(value); }
  Range rangeOfResult(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Range> ranges; ///< of those that have any of it
};

} // namespace tcc::ir
