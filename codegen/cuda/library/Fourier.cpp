//===- Fourier.cpp - DFT and STFT on the device ---------------------------===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;
constexpr StringLiteral kHeader = "fourier.cuh";

/// The one number that an operand is, over symbols; null where only the run knows it.
AffineExpr numberOf(Value value) {
  if (auto extents = value.getDefiningOp<ir::ExtentsOp>())
    return extents.getValue().getExprs().size() == 1 ? extents.getValue().getExprs()[0] : AffineExpr();
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return {};
  return getAffineConstantExpr((*elements.begin()).getSExtValue(), value.getContext());
}

std::string flag(bool value) { return value ? "true" : "false"; }

struct Transform {
  explicit Transform(Operation *op) : attributes(attributesOf(op)), in(ir::getExtents(op->getOperand(0).getType())) {
    axis = attributes.IntOr("axis", -2);
    axis += axis < 0 ? static_cast<int64_t>(in.size()) : 0;
    inverse = attributes.IntOr("inverse", 0) != 0;
    onesided = attributes.IntOr("onesided", 0) != 0;
    ir::Exprs out = ir::getExtents(op->getResult(0).getType());
    if (axis < 0 || axis + 1 >= static_cast<int64_t>(in.size()) || out.size() != in.size())
      return;
    // The length is that of results, but for half a spectrum.
    std::optional<unsigned> operand = operandAt(op, 1);
    length = !onesided || inverse ? out[axis] : operand ? numberOf(op->getOperand(*operand)) : in[axis];
    bins = out[axis];
    parts = ir::getConstant(in.back()).value_or(0);
  }
  tcc::Attributes attributes;
  ir::Exprs in;
  int64_t axis = 0, parts = 0;
  bool inverse = false, onesided = false;
  AffineExpr length, bins;
};

void applyDft(LibraryKernel &kernel) {
  Transform dft(kernel.op);
  ArrayRef<AffineExpr> in = dft.in;
  AffineExpr inner = kernel.product(in.drop_front(dft.axis + 1).drop_back()),
             count = ir::simplifyExtent(kernel.product(in.take_front(dft.axis)) * inner * dft.bins);
  bool half = dft.inverse && dft.onesided;
  kernel.launch(
      "dft", kHeader, kThreads, count.ceilDiv(kThreads), {{kernel.input(0), "x"}, {kernel.result(0), "y", true}},
      {{"extent", in[dft.axis]}, {"inner", inner}, {"length", dft.length}, {"bins", dft.bins}, {"count", count}},
      std::string("  const long long taken = tcc::min(extent, ") + (half ? "length / 2 + 1" : "length") +
          ");\n  tcc::dft<" + elementText(elementTypeOf(kernel.op->getOperand(0))) + ", " + std::to_string(dft.parts) +
          ", " + flag(dft.inverse) + ", " + flag(half) + ">(x, y, {extent, inner, taken, length, bins}, count);\n");
}

bool isDft(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || operandAt(op, 2) || !isa<FloatType>(elementTypeOf(op->getOperand(0))))
    return false;
  Transform dft(op);
  return dft.length && (dft.parts == 1 || dft.parts == 2) &&
         ir::getValueRange(dft.length, ir::getSymbols(op)).first >= 1;
}

void applyStft(LibraryKernel &kernel) {
  Operation *op = kernel.op;
  ir::Exprs in = ir::getExtents(op->getOperand(0).getType()), out = ir::getExtents(op->getResult(0).getType());
  std::optional<unsigned> window = operandAt(op, 2), size = operandAt(op, 3);
  AffineExpr step = numberOf(op->getOperand(*operandAt(op, 1)));
  AffineExpr length = size ? numberOf(op->getOperand(*size)) : ir::getExtent(op->getOperand(*window).getType(), 0);
  AffineExpr count = kernel.product(ArrayRef(out).drop_back());
  SmallVector<LibraryKernel::Buffer> buffers = {{kernel.input(0), "x"}, {kernel.result(0), "y", true}};
  if (window)
    buffers.push_back({kernel.input(*window), "window"});
  kernel.launch(
      "stft", kHeader, kThreads, count.ceilDiv(kThreads), buffers,
      {{"length", in[1]}, {"step", step}, {"size", length}, {"frames", out[1]}, {"bins", out[2]}, {"count", count}},
      "  tcc::stft<" + elementText(elementTypeOf(op->getOperand(0))) + ", " + std::to_string(*ir::getConstant(in[2])) +
          ", " + flag(window.has_value()) + ">(x, " + (window ? "window" : "nullptr") +
          ", y, length, step, size, frames, bins, count);\n");
}

bool isStft(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || !isa<FloatType>(elementTypeOf(op->getOperand(0))) || !operandAt(op, 1))
    return false;
  ir::Exprs in = ir::getExtents(op->getOperand(0).getType());
  std::optional<unsigned> window = operandAt(op, 2), size = operandAt(op, 3);
  if (in.size() != 3 || (ir::getConstant(in[2]) != 1 && ir::getConstant(in[2]) != 2) || (!window && !size))
    return false;
  AffineExpr step = numberOf(op->getOperand(*operandAt(op, 1)));
  AffineExpr ofWindow = window ? ir::getExtent(op->getOperand(*window).getType(), 0) : AffineExpr();
  AffineExpr length = size ? numberOf(op->getOperand(*size)) : ofWindow;
  auto isPositive = [&](AffineExpr expr) { return expr && ir::getValueRange(expr, ir::getSymbols(op)).first >= 1; };
  return isPositive(step) && isPositive(length) && (!window || ofWindow == length) &&
         (!window || elementTypeOf(op->getOperand(*window)) == elementTypeOf(op->getOperand(0)));
}

} // namespace

const LibrarySchedule dftSchedule = {"dft", isDft, applyDft};
const LibrarySchedule stftSchedule = {"stft", isStft, applyStft};

} // namespace tcc::codegen::cuda
