// MaxPool, AveragePool, LpPool and the global ones.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

#include <limits>

using namespace mlir;

namespace tcc::onnx {

static Ints kernelShape(NodeBuilder &b) {
  std::optional<Ints> kernel = b.intsAttr("kernel_shape");
  b.check(kernel.has_value(), "attribute 'kernel_shape' is missing");
  return *kernel;
}

static Value lowest(NodeBuilder &b, Value x) {
  if (b.isFloat(x))
    return b.like(x, -std::numeric_limits<double>::infinity());
  Type type = b.elementType(x);
  return b.scalarInt(type,
                     type.isUnsignedInteger() ? 0 : std::numeric_limits<int64_t>::min() >> (64 - b.bitWidth(type)));
}

void convertMaxPool(NodeBuilder &b) {
  Value x = b.input(0);
  Window window = readWindow(b, x, kernelShape(b), lowest(b, x));
  SmallVector<NamedAttribute> attrs = windowAttrs(b, window, /*withKernel=*/true);
  if (!b.wants(1)) {
    b.result(b.emit<ir::MaxPoolOp>(window.x, attrs));
    return;
  }
  if (window.x != x)
    for (int64_t axis = 2; axis < b.rank(x); ++axis)
      b.requireExtent(x, axis, "auto_pad with indices");
  attrs.push_back(b.flag("column_major", b.intAttr("storage_order", 0) != 0));
  Values results = b.create("tcc.max_pool_indices", x, attrs);
  b.result(0, results[0]);
  b.result(1, results[1]);
}

void convertAveragePool(NodeBuilder &b) {
  Value x = b.input(0);
  bool includePad = b.intAttr("count_include_pad", 0) != 0;
  Window window = readWindow(b, x, kernelShape(b));
  if (window.x != x && !includePad)
    for (int64_t axis = 2; axis < b.rank(x); ++axis)
      b.requireExtent(x, axis, "auto_pad without count_include_pad");
  SmallVector<NamedAttribute> attrs = windowAttrs(b, window, /*withKernel=*/true);
  attrs.push_back(b.flag("count_include_pad", includePad));
  b.result(b.emit<ir::AvgPoolOp>(window.x, attrs));
}

static Ints spatialAxes(NodeBuilder &b, Value x) {
  b.check(b.rank(x) >= 2, "needs an input of rank 2 or more");
  return llvm::to_vector(llvm::seq<int64_t>(2, b.rank(x)));
}

void convertGlobalAveragePool(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.reduce(x, ir::ReduceKind::Mean, spatialAxes(b, x), /*keepDims=*/true));
}

void convertGlobalMaxPool(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.reduce(x, ir::ReduceKind::Max, spatialAxes(b, x), /*keepDims=*/true));
}

static Value root(NodeBuilder &b, Value sum, double p) {
  if (p == 1)
    return sum;
  return p == 2 ? b.unary<ir::SqrtOp>(sum) : b.pow(sum, 1 / p);
}

static Value power(NodeBuilder &b, Value x, double p) {
  if (p == 2)
    return b.mul(x, x);
  Value magnitude = b.unary<ir::AbsOp>(x);
  return p == 1 ? magnitude : b.pow(magnitude, p);
}

static double exponent(NodeBuilder &b) {
  const bool isFloat = b.version < 2; // attribute p was a float in op set 1
  return isFloat ? b.floatAttr("p", 2) : static_cast<double>(b.intAttr("p", 2));
}

void convertGlobalLpPool(NodeBuilder &b) {
  Value x = b.input(0);
  double p = exponent(b);
  b.result(root(b, b.reduce(power(b, x, p), ir::ReduceKind::Sum, spatialAxes(b, x), /*keepDims=*/true), p));
}

// The sum over a window is a convolution with ones, each channel an image of its own.
void convertLpPool(NodeBuilder &b) {
  Value x = b.input(0);
  double p = exponent(b);
  Window window = readWindow(b, x, kernelShape(b));
  Exprs e = b.extents(window.x), single{ir::simplifyExtent(e[0] * e[1]), b.expr(1)}, ones{b.expr(1), b.expr(1)};
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    single.push_back(e[i + 2]);
    ones.push_back(b.expr(window.kernel[i]));
    int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (window.ceilMode)
      window.high[i] = ir::ceilModePadding(window.high[i], span, window.strides[i]);
  }
  SmallVector<NamedAttribute> attrs = windowAttrs(b, window, /*withKernel=*/false);
  attrs.push_back(b.i64("groups", 1));
  Value sum = b.emit<ir::ConvOp>({power(b, b.reshape(window.x, single), p), b.full(ones, b.like(x, 1))}, attrs);
  Exprs target = b.extents(sum);
  target[0] = e[0];
  target[1] = e[1];
  b.result(root(b, b.reshape(sum, target), p));
}

} // namespace tcc::onnx
