// https://onnx.ai/onnx/operators/onnx__ConvTranspose.html: padding given, or computed from output_shape or auto_pad.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/Window.h"

using namespace mlir;

namespace tcc::onnx {

void convertConvTranspose(NodeBuilder &b) {
  Value x = b.input(0), w = b.input(1);
  b.check(b.rank(x) >= 3 && b.rank(w) == b.rank(x), "the weights must have the rank of the input, 3 or more");
  size_t spatial = b.rank(x) - 2;
  Ints kernel, strides = spatialAttr(b, "strides", spatial, 1), dilations = spatialAttr(b, "dilations", spatial, 1);
  Ints outputPadding = spatialAttr(b, "output_padding", spatial, 0), low(spatial, 0), high(spatial, 0);
  for (size_t i = 0; i < spatial; ++i)
    kernel.push_back(b.requireExtent(w, i + 2, "the kernel"));
  kernel = windowSizes(b, "the kernel", std::move(kernel));
  std::string autoPad = b.stringAttr("auto_pad", "NOTSET");
  std::optional<Ints> outputShape = b.intsAttr("output_shape");
  if (outputShape && outputShape->size() == spatial + 2)
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  b.check(!outputShape || outputShape->size() == spatial,
          "attribute 'output_shape' must have an entry per spatial axis");
  if (outputShape)
    outputShape = windowSizes(b, "attribute 'output_shape'", *std::move(outputShape));
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  b.check(same || autoPad == "NOTSET" || autoPad == "VALID", "attribute 'auto_pad' is '" + autoPad + "'");
  if (outputShape || same) {
    for (size_t i = 0; i < spatial; ++i) {
      int64_t span = (kernel[i] - 1) * dilations[i] + 1, total;
      if (outputShape) {
        int64_t in = b.requireExtent(x, i + 2, "attribute 'output_shape'");
        b.check(in <= int64_t(1) << 30, "an input axis of " + Twine(in) + " is too large for attribute 'output_shape'");
        total = strides[i] * (in - 1) + outputPadding[i] + span - (*outputShape)[i];
      } else // the output is stride times the input
        total = span + outputPadding[i] - strides[i];
      if (total < 0) {
        outputPadding[i] -= total;
        total = 0;
      }
      low[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      high[i] = total - low[i];
    }
  } else if (autoPad == "NOTSET") {
    Ints pads = spatialAttr(b, "pads", 2 * spatial, 0);
    low.assign(pads.begin(), pads.begin() + spatial);
    high.assign(pads.begin() + spatial, pads.end());
  }
  Value y = b.emit<ir::ConvTransposeOp>({x, w}, {b.i64s("strides", strides), b.i64s("padding_low", low),
                                                 b.i64s("padding_high", high), b.i64s("dilations", dilations),
                                                 b.i64s("output_padding", outputPadding),
                                                 b.i64("groups", b.sizeAttr("group", 1))});
  if (Value bias = b.optionalInput(2))
    y = addBias(b, y, bias);
  b.result(y);
}

} // namespace tcc::onnx
