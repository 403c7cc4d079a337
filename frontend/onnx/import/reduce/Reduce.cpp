// The Reduce* family; axes are an attribute in older op sets and an input in newer ones.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

namespace {
struct Axes {
  Ints axes;
  bool keepDims;
};
} // namespace

static Axes readAxes(NodeBuilder &b) {
  Value x = b.input(0);
  Axes result{{}, b.intAttr("keepdims", 1) != 0};
  std::optional<Ints> given = b.axesAttrOrInput(1);
  if (given && !given->empty())
    result.axes = b.normalizeAxes(*given, b.rank(x));
  else if (b.intAttr("noop_with_empty_axes", 0) == 0)
    result.axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  return result;
}

static Value reduceBy(NodeBuilder &b, Value x, ir::ReduceKind kind) {
  Axes a = readAxes(b);
  return b.reduce(x, kind, a.axes, a.keepDims);
}

void convertReduceSum(NodeBuilder &b) { b.result(reduceBy(b, b.input(0), ir::ReduceKind::Sum)); }
void convertReduceProd(NodeBuilder &b) { b.result(reduceBy(b, b.input(0), ir::ReduceKind::Prod)); }
void convertReduceMax(NodeBuilder &b) { b.result(reduceBy(b, b.input(0), ir::ReduceKind::Max)); }
void convertReduceMin(NodeBuilder &b) { b.result(reduceBy(b, b.input(0), ir::ReduceKind::Min)); }
void convertReduceMean(NodeBuilder &b) { b.result(reduceBy(b, b.input(0), ir::ReduceKind::Mean)); }

void convertReduceL1(NodeBuilder &b) { b.result(reduceBy(b, b.unary<ir::AbsOp>(b.input(0)), ir::ReduceKind::Sum)); }

// The squares of float16 values overflow float16: sum them in float32.
static Value sumOfSquares(NodeBuilder &b, bool root) {
  Value x = b.input(0);
  Type type = b.elementType(x);
  bool integer = !b.isFloat(x);
  bool widen = (integer && root) || (!integer && b.bitWidth(type) < 32);
  if (widen)
    x = b.cast(x, integer && b.bitWidth(type) > 16 ? b.builder.getF64Type() : b.f32Type());
  Value sum = reduceBy(b, b.mul(x, x), ir::ReduceKind::Sum);
  return b.cast(root ? b.unary<ir::SqrtOp>(sum) : sum, type);
}

void convertReduceL2(NodeBuilder &b) { b.result(sumOfSquares(b, /*root=*/true)); }
void convertReduceSumSquare(NodeBuilder &b) { b.result(sumOfSquares(b, /*root=*/false)); }

// Logarithms of integers are computed in float64.
static Value inFloat(NodeBuilder &b, Value x) { return b.isFloat(x) ? x : b.cast(x, b.builder.getF64Type()); }

void convertReduceLogSum(NodeBuilder &b) {
  Value x = b.input(0);
  Value sum = reduceBy(b, inFloat(b, x), ir::ReduceKind::Sum);
  b.result(b.cast(b.unary<ir::LogOp>(sum), b.elementType(x)));
}

// m + log(sum(exp(x - m))) with m the largest element, or 0 where that is infinite.
void convertReduceLogSumExp(NodeBuilder &b) {
  Value x = inFloat(b, b.input(0));
  Axes a = readAxes(b);
  Value most = b.reduce(x, ir::ReduceKind::Max, a.axes, /*keepDims=*/true);
  Value infinite = b.emit<ir::IsInfOp>(most, {b.flag("detect_negative", true), b.flag("detect_positive", true)});
  most = b.select(infinite, b.like(most, 0), most);
  Value sum = b.reduce(b.unary<ir::ExpOp>(b.sub(x, most)), ir::ReduceKind::Sum, a.axes, /*keepDims=*/true);
  Value y = b.add(b.unary<ir::LogOp>(sum), most);
  if (!a.keepDims)
    y = b.squeeze(y, a.axes);
  b.result(b.cast(y, b.elementType(b.input(0))));
}

} // namespace tcc::onnx
