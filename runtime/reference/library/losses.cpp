// ONNX NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>
#include <optional>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// Loss over log-probabilities [N, C, inner], float64 and row-major, with targets [N, inner].
Results Loss(const Call& call, const Tensor& logs, DType dtype) {
  const std::string reduction = call.attributes.StringOr("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return Invalid("reduction '", reduction, "' is none of none, sum, mean");
  }
  const Tensor& target = call.inputs[1];
  Dims expected{logs.dim(0)};
  expected.insert(expected.end(), logs.dims().begin() + 2, logs.dims().end());
  if (target.dims() != expected) return Invalid("targets must have extents ", DimsText(expected));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ToVector<int64_t>(target));
  const int64_t classes = logs.dim(1), inner = Product(Extents(logs.dims()).subspan(2));
  std::vector<double> weights;
  if (call.inputs[2].valid()) {
    TCC_ASSIGN_OR_RETURN(weights, ToVector<double>(call.inputs[2]));
    if (static_cast<int64_t>(weights.size()) != classes) return Invalid("there must be ", classes, " weights");
  }
  const bool ignores = call.attributes.Has("ignore_index");
  const int64_t ignored = call.attributes.IntOr("ignore_index", -1);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, expected));
  double sum = 0, total = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    double loss = 0;
    if (!ignores || targets[i] != ignored) {
      if (targets[i] < 0 || targets[i] >= classes) {
        return OutOfRange("index ", targets[i], " is out of range for axis 1 of extent ", classes);
      }
      const double weight = weights.empty() ? 1 : weights[targets[i]];
      const auto n = static_cast<int64_t>(i) / inner, k = static_cast<int64_t>(i) % inner;
      loss = -weight * logs.data_as<double>()[(n * classes + targets[i]) * inner + k];
      total += weight;
    }
    y.data_as<double>()[i] = loss;
    sum += loss;
  }
  if (reduction == "none") return One(ConvertDType(y, dtype));
  return One(ConvertDType(Tensor::Scalar(reduction == "sum" ? sum : sum / total), dtype));
}

}  // namespace

// nll_loss(log_probabilities [N, C, ..], target [N, ..], weight?; reduction, ignore_index)
Results NllLoss(const Call& call) {
  if (call.inputs[0].rank() < 2) return Invalid("the operand must have classes");
  TCC_ASSIGN_OR_RETURN(const Tensor logs, ConvertDType(call.inputs[0], DType::kF64));
  return Loss(call, logs, call.inputs[0].dtype());
}

// softmax_cross_entropy_loss(scores [N, C, ..], labels, weight?; reduction, ignore_index) -> loss, log-probabilities.
Results SoftmaxCrossEntropyLoss(const Call& call) {
  if (call.inputs[0].rank() < 2) return Invalid("the operand must have classes");
  TCC_ASSIGN_OR_RETURN(const Tensor scores, ConvertDType(call.inputs[0], DType::kF64));
  TCC_ASSIGN_OR_RETURN(const Tensor logs, Tensor::Allocate(DType::kF64, scores.dims()));
  const int64_t classes = scores.dim(1), inner = Product(Extents(scores.dims()).subspan(2));
  for (int64_t n = 0; n < scores.dim(0); ++n) {
    for (int64_t k = 0; k < inner; ++k) {
      const double* xs = scores.data_as<double>() + n * classes * inner + k;
      double* ys = logs.data_as<double>() + n * classes * inner + k;
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t c = 0; c < classes; ++c) max = MaxOf(max, xs[c * inner]);
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(xs[c * inner] - max);
      for (int64_t c = 0; c < classes; ++c) ys[c * inner] = xs[c * inner] - max - std::log(sum);
    }
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> results, Loss(call, logs, call.inputs[0].dtype()));
  TCC_ASSIGN_OR_RETURN(Tensor probabilities, ConvertDType(logs, call.inputs[0].dtype()));
  results.push_back(std::move(probabilities));
  return results;
}

}  // namespace tcc::reference
