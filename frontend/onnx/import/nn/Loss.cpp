// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static Value nllLoss(NodeBuilder &b, Value logProbabilities, Value target, Value weight) {
  b.check(b.rank(logProbabilities) >= 2, "needs an input of rank 2 or more");
  Type type = b.elementType(logProbabilities);
  target = b.cast(target, b.i64Type());
  Value ignored;
  if (b.hasAttr("ignore_index")) {
    Value index = b.scalarInt(b.i64Type(), b.intAttr("ignore_index", 0));
    ignored = b.compare(target, index, ir::Predicate::Eq);
    target = b.select(ignored, b.scalarInt(b.i64Type(), 0), target);
  }
  Value picked = b.emit<ir::GatherElementsOp>({logProbabilities, b.unsqueeze(target, {1})}, b.i64("axis", 1));
  Value loss = b.unary<ir::NegOp>(b.squeeze(picked, {1}));
  Value weights = weight ? b.gather(weight, target, 0) : b.full(b.extents(target), b.scalar(type, 1));
  if (ignored)
    weights = b.select(ignored, b.scalar(type, 0), weights);
  loss = b.mul(loss, weights);
  std::string reduction = b.stringAttr("reduction", "mean");
  if (reduction == "none")
    return loss;
  b.check(reduction == "mean" || reduction == "sum", "attribute 'reduction' must be none, mean or sum");
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(loss)));
  Value sum = b.reduce(loss, ir::ReduceKind::Sum, all, /*keepDims=*/false);
  return reduction == "sum" ? sum : b.div(sum, b.reduce(weights, ir::ReduceKind::Sum, all, /*keepDims=*/false));
}

void convertNegativeLogLikelihoodLoss(NodeBuilder &b) {
  b.result(nllLoss(b, b.input(0), b.input(1), b.optionalInput(2)));
}

void convertSoftmaxCrossEntropyLoss(NodeBuilder &b) {
  Value logProbabilities = b.emit<ir::LogSoftmaxOp>(b.input(0), b.i64("axis", 1));
  b.result(0, nllLoss(b, logProbabilities, b.input(1), b.optionalInput(2)));
  if (b.wants(1))
    b.result(1, logProbabilities);
}

} // namespace tcc::onnx
