// DFT and STFT: library kernels on [real, imaginary] pairs in the last axis.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static void dft(NodeBuilder &b, int64_t axis) {
  Value x = b.input(0);
  b.check(b.rank(x) >= 2, "needs an input of rank 2 or more");
  axis = b.normalizeAxis(axis, b.rank(x));
  bool inverse = b.intAttr("inverse", 0) != 0, onesided = b.intAttr("onesided", 0) != 0;
  Exprs target = b.extents(x);
  if (b.has(1))
    target[axis] = b.expr(b.constantScalarInput(1, "the length"));
  AffineExpr length = target[axis];
  // One-sided: half of the spectrum out, or (inverse) half of it in.
  if (onesided)
    target[axis] = inverse ? (b.has(1) ? length : ir::simplifyExtent((length - 1) * 2))
                           : ir::simplifyExtent(length.floorDiv(2) + 1);
  target.back() = b.expr(onesided && inverse ? 1 : 2);
  Value lengthValue = b.has(1) ? b.extentsTensor(length, /*scalar=*/true) : Value();
  b.result(b.libraryOne("dft", {x, lengthValue},
                        {b.i64("axis", axis), b.i64("inverse", inverse), b.i64("onesided", onesided)},
                        b.tensorType(target, b.elementType(x))));
}

void convertDFTAttribute(NodeBuilder &b) { dft(b, b.intAttr("axis", 1)); }
void convertDFT(NodeBuilder &b) { dft(b, b.has(2) ? b.constantScalarInput(2, "the axis") : -2); }

void convertSTFT(NodeBuilder &b) {
  Value signal = b.input(0), window = b.optionalInput(2);
  b.check(b.rank(signal) == 2 || b.rank(signal) == 3, "needs a signal of rank 2 or 3");
  int64_t step = b.constantScalarInput(1, "frame_step");
  b.check(step > 0, "frame_step must be positive");
  bool onesided = b.intAttr("onesided", 1) != 0;
  b.check(window || b.has(3), "needs a window or a frame length");
  int64_t length = b.has(3) ? b.constantScalarInput(3, "frame_length") : b.requireExtent(window, 0, "the window");
  b.check(length > 0, "frame_length must be positive");
  AffineExpr frames = ir::simplifyExtent((b.extent(signal, 1) - length).floorDiv(step) + 1);
  Exprs target{b.extent(signal, 0), frames, b.expr(onesided ? length / 2 + 1 : length), b.expr(2)};
  b.result(b.libraryOne("stft", {signal, b.scalarInt(b.i64Type(), step), window, b.scalarInt(b.i64Type(), length)},
                        b.i64("onesided", onesided), b.tensorType(target, b.elementType(signal))));
}

} // namespace tcc::onnx
