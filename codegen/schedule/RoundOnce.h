//===- RoundOnce.h - conversions to half floats that round once --*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"

namespace tcc::codegen {

/// A float32 (scalar or vector, as `x`) that rounds to float16 and to bfloat16 as x itself does. x is a float64, or a
/// signless integer of up to 64 bits.
///
/// Rounding x to float32 and then to a half float rounds twice: a value just above the middle of two half floats
/// becomes the middle, and then goes to the even one. So x is rounded to odd first (what was lost shows in the last
/// bit), which leaves the second rounding as it is from x where the wider type has two bits more: S. Boldo and G.
/// Melquiond, "When double rounding is odd", 2005, https://inria.hal.science/inria-00070603
mlir::Value toFloat32ForHalf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, bool isUnsigned = false);

} // namespace tcc::codegen
