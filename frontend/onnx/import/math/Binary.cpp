// Ops that are one tcc op of two broadcast operands.
#include "frontend/onnx/import/Conversions.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::onnx {

static StringRef binaryOp(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Case("Add", "tcc.add")
      .Cases("And", "BitwiseAnd", "tcc.and")
      .Case("Div", "tcc.div")
      .Case("Mul", "tcc.mul")
      .Cases("Or", "BitwiseOr", "tcc.or")
      .Case("Pow", "tcc.pow")
      .Case("Sub", "tcc.sub")
      .Cases("Xor", "BitwiseXor", "tcc.xor");
}

void convertBinary(NodeBuilder &b) { b.result(b.binary(binaryOp(b.op()), b.input(0), b.input(1))); }

// Op sets before 7: the second operand is aligned at attribute `axis` (default: at the end) when `broadcast` is set.
static Value alignLegacy(NodeBuilder &b) {
  Value x = b.input(0), y = b.input(1);
  if (b.intAttr("broadcast", 0) == 0 || !b.hasAttr("axis"))
    return y;
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x));
  int64_t trailing = b.rank(x) - axis - b.rank(y);
  b.check(trailing >= 0, "the second operand does not fit at attribute 'axis'");
  Exprs extents = b.extents(y);
  extents.append(trailing, b.expr(1));
  return b.reshape(y, extents);
}

void convertBinaryLegacy(NodeBuilder &b) { b.result(b.binary(binaryOp(b.op()), b.input(0), alignLegacy(b))); }

static ir::Predicate predicateOf(StringRef op) {
  return llvm::StringSwitch<ir::Predicate>(op)
      .Case("Equal", ir::Predicate::Eq)
      .Case("Greater", ir::Predicate::Gt)
      .Case("GreaterOrEqual", ir::Predicate::Ge)
      .Case("Less", ir::Predicate::Lt)
      .Default(ir::Predicate::Le);
}

void convertCompare(NodeBuilder &b) { b.result(b.compare(b.input(0), b.input(1), predicateOf(b.op()))); }
void convertCompareLegacy(NodeBuilder &b) { b.result(b.compare(b.input(0), alignLegacy(b), predicateOf(b.op()))); }

} // namespace tcc::onnx
