// Ops that are one tcc op of one operand.
#include "frontend/onnx/import/Conversions.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::onnx {

void convertUnary(NodeBuilder &b) {
  StringRef op = llvm::StringSwitch<StringRef>(b.op())
                     .Case("Abs", "tcc.abs")
                     .Case("Acos", "tcc.acos")
                     .Case("Acosh", "tcc.acosh")
                     .Case("Asin", "tcc.asin")
                     .Case("Asinh", "tcc.asinh")
                     .Case("Atan", "tcc.atan")
                     .Case("Atanh", "tcc.atanh")
                     .Case("BitwiseNot", "tcc.not")
                     .Case("Ceil", "tcc.ceil")
                     .Case("Cos", "tcc.cos")
                     .Case("Cosh", "tcc.cosh")
                     .Case("Erf", "tcc.erf")
                     .Case("Exp", "tcc.exp")
                     .Case("Floor", "tcc.floor")
                     .Case("IsNaN", "tcc.is_nan")
                     .Case("Log", "tcc.log")
                     .Case("Neg", "tcc.neg")
                     .Case("Not", "tcc.not")
                     .Case("Reciprocal", "tcc.reciprocal")
                     .Case("Round", "tcc.round")
                     .Case("Sigmoid", "tcc.sigmoid")
                     .Case("Sign", "tcc.sign")
                     .Case("Sin", "tcc.sin")
                     .Case("Sinh", "tcc.sinh")
                     .Case("Sqrt", "tcc.sqrt")
                     .Case("Tan", "tcc.tan")
                     .Case("Tanh", "tcc.tanh");
  b.result(b.create(op, b.input(0), {}).front());
}

void convertIsInf(NodeBuilder &b) {
  b.result(b.emit<ir::IsInfOp>(b.input(0), {b.flag("detect_negative", b.intAttr("detect_negative", 1) != 0),
                                            b.flag("detect_positive", b.intAttr("detect_positive", 1) != 0)}));
}

} // namespace tcc::onnx
