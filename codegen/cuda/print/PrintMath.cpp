//===- PrintMath.cpp - functions ------------------------------------------===//
//
// CUDA's functions for float and double with their documented errors (at most a few units in the last place, no
// fast-math intrinsics); whether division and square roots are rounded correctly is an option of the compiler, on by
// default.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

// The function for double; the one for float has an f behind it.
static llvm::StringRef functionOf(Operation &op) {
  return llvm::StringSwitch<llvm::StringRef>(op.getName().stripDialect())
      .Case("absf", "fabs")
      .Cases("acos", "acosh", "asin", "asinh", "atan", op.getName().stripDialect())
      .Cases("atan2", "atanh", "cbrt", "ceil", "copysign", op.getName().stripDialect())
      .Cases("cos", "cosh", "erf", "exp", "exp2", op.getName().stripDialect())
      .Cases("expm1", "floor", "fma", "log", "log10", op.getName().stripDialect())
      .Cases("log1p", "log2", "round", "rsqrt", "sin", op.getName().stripDialect())
      .Cases("sinh", "sqrt", "tan", "tanh", "trunc", op.getName().stripDialect())
      .Case("powf", "pow")
      .Case("roundeven", "rint") // the rounding mode is to nearest, ties to even, on a GPU always
      .Default("");
}

FailureOr<Expr> Printer::math(Operation &op) {
  Type type = getElementTypeOrSelf(op.getResult(0).getType());
  llvm::SmallVector<std::string> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(getTyped(operand));
  std::string name;
  if (isa<math::AbsIOp>(op)) {
    name = "tcc::abs_int";
  } else if (isa<math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp>(op)) {
    // Small ones must not be promoted: all their bits count, and no others.
    name = isa<math::CountLeadingZerosOp>(op)    ? "tcc::leading_zeros"
           : isa<math::CountTrailingZerosOp>(op) ? "tcc::trailing_zeros"
                                                 : "tcc::count_ones";
    if (type.isInteger(1))
      return unknown(op, "bits of a bool"), failure();
    name += "<" + typeOf(type) + ">";
  } else if (type.isF32() || type.isF64()) {
    for (Type operand : op.getOperandTypes())
      if (getElementTypeOrSelf(operand) != type)
        return unknown(op), failure();
    name = functionOf(op).str();
    if (name.empty())
      return unknown(op, "unknown function"), failure();
    if (type.isF32())
      name += "f";
  } else {
    return unknown(op, "float16 and bfloat16 are computed as float32"), failure();
  }
  return call(name, arguments);
}

} // namespace tcc::codegen::cuda_print
