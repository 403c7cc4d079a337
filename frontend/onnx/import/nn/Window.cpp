//===- Window.cpp - auto_pad rules of convolution and pooling -------------===//
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

Ints windowSizes(NodeBuilder &b, const Twine &what, Ints values) {
  // A product of two, and sums of those, stay far from overflow.
  constexpr int64_t kMost = int64_t(1) << 30;
  for (int64_t value : values)
    b.check(-kMost <= value && value <= kMost, what + " has an entry of " + Twine(value) + ", the most is 2^30");
  return values;
}

Ints spatialAttr(NodeBuilder &b, StringRef name, size_t count, int64_t fallback) {
  Ints values = b.intsAttr(name).value_or(Ints(count, fallback));
  b.check(values.size() == count, "attribute '" + name + "' must have " + Twine(count) + " entries");
  return windowSizes(b, "attribute '" + name + "'", std::move(values));
}

static void samePadding(NodeBuilder &b, Window &w, bool upper, Value fill) {
  Exprs low(b.rank(w.x), b.expr(0)), high = low;
  bool symbolic = false;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t span = (w.kernel[i] - 1) * w.dilations[i] + 1, stride = w.strides[i];
    AffineExpr in = b.extent(w.x, i + 2), total;
    if (std::optional<int64_t> n = ir::getConstant(in)) {
      int64_t windows = *n / stride + (*n % stride != 0);
      total = b.expr(std::max<int64_t>(0, (windows - 1) * stride + span - *n));
    } else {
      if (span < stride)
        b.requireExtent(w.x, i + 2, "auto_pad with a stride larger than the kernel");
      total = ir::simplifyExtent((in.ceilDiv(stride) - 1) * stride + span - in);
    }
    AffineExpr half = ir::simplifyExtent(total.floorDiv(2)), rest = ir::simplifyExtent(total - half);
    low[i + 2] = upper ? half : rest;
    high[i + 2] = upper ? rest : half;
    symbolic |= !ir::getConstant(total).has_value();
  }
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    w.low[i] = symbolic ? 0 : *ir::getConstant(low[i + 2]);
    w.high[i] = symbolic ? 0 : *ir::getConstant(high[i + 2]);
  }
  if (symbolic)
    w.x = b.pad(w.x, fill, low, high);
}

Window readWindow(NodeBuilder &b, Value x, Ints kernel, Value fill) {
  size_t spatial = b.rank(x) - 2;
  b.check(b.rank(x) >= 3, "needs an input of rank 3 or more, not " + Twine(b.rank(x)));
  b.check(kernel.size() == spatial,
          "the kernel has " + Twine(kernel.size()) + " axes for " + Twine(spatial) + " spatial axes of the input");
  Window w;
  w.x = x;
  w.kernel = windowSizes(b, "the kernel", std::move(kernel));
  w.strides = spatialAttr(b, "strides", spatial, 1);
  w.dilations = spatialAttr(b, "dilations", spatial, 1);
  for (size_t i = 0; i < spatial; ++i)
    b.check(w.strides[i] > 0 && w.dilations[i] > 0 && w.kernel[i] > 0,
            "kernel, strides and dilations must be positive");
  w.ceilMode = b.intAttr("ceil_mode", 0) != 0;
  w.low.assign(spatial, 0);
  w.high.assign(spatial, 0);
  std::string autoPad = b.stringAttr("auto_pad", "NOTSET");
  if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
    samePadding(b, w, autoPad == "SAME_UPPER", fill);
  } else if (autoPad == "NOTSET") {
    Ints pads = spatialAttr(b, "pads", 2 * spatial, 0);
    w.low.assign(pads.begin(), pads.begin() + spatial);
    w.high.assign(pads.begin() + spatial, pads.end());
  } else {
    b.check(autoPad == "VALID",
            "attribute 'auto_pad' must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not '" + autoPad + "'");
  }
  for (size_t i = 0; i < spatial; ++i) {
    std::optional<int64_t> n = b.constantExtent(w.x, i + 2);
    int64_t span = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (n && !w.ceilMode)
      b.check(*n + w.low[i] + w.high[i] >= span,
              "the kernel is larger than the padded input along axis " + Twine(i + 2));
  }
  return w;
}

SmallVector<NamedAttribute> windowAttrs(NodeBuilder &b, const Window &w, bool withKernel) {
  SmallVector<NamedAttribute> attrs{b.i64s("strides", w.strides), b.i64s("padding_low", w.low),
                                    b.i64s("padding_high", w.high), b.i64s("dilations", w.dilations)};
  if (withKernel) {
    attrs.push_back(b.i64s("kernel", w.kernel));
    attrs.push_back(b.flag("ceil_mode", w.ceilMode));
  }
  return attrs;
}

Value addBias(NodeBuilder &b, Value y, Value bias) {
  b.check(b.rank(bias) == 1, "the bias must be of rank 1");
  if (b.extent(bias, 0) != b.extent(y, 1)) {
    int64_t given = b.requireExtent(bias, 0, "the bias"), wanted = b.requireExtent(y, 1, "the bias");
    b.check(given == wanted, "there are " + Twine(given) + " biases for " + Twine(wanted) + " channels");
  }
  return b.add(y, perChannel(b, bias, b.rank(y)));
}

Value perChannel(NodeBuilder &b, Value vector, int64_t rank) {
  b.check(b.rank(vector) == 1, "a per-channel operand must be of rank 1");
  Exprs extents(std::max<int64_t>(1, rank - 1), b.expr(1));
  extents[0] = b.extent(vector, 0);
  return b.reshape(vector, extents);
}

} // namespace tcc::onnx
