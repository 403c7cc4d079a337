#include "runtime/reference/activation.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tcc::reference {
namespace {

using Kind = Activation::Kind;

constexpr struct Known {
  const char* name;
  Kind kind;
  bool has_alpha, has_beta;
  double alpha, beta;
} kKnown[] = {
    {"relu", Kind::kRelu, false, false, 0, 0},
    {"tanh", Kind::kTanh, false, false, 0, 0},
    {"sigmoid", Kind::kSigmoid, false, false, 0, 0},
    {"affine", Kind::kAffine, true, true, 1, 0},
    {"leakyrelu", Kind::kLeakyRelu, true, false, 0.01, 0},
    {"thresholdedrelu", Kind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", Kind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Kind::kHardSigmoid, true, true, 0.2, 0.5},
    {"elu", Kind::kElu, true, false, 1, 0},
    {"softsign", Kind::kSoftsign, false, false, 0, 0},
    {"softplus", Kind::kSoftplus, false, false, 0, 0},
};

}  // namespace

double Activation::operator()(double x) const {
  switch (kind) {
    case Kind::kRelu:
      return x < 0 ? 0 : x;
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kSigmoid:
      return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    case Kind::kAffine:
      return alpha * x + beta;
    case Kind::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case Kind::kThresholdedRelu:
      return x > alpha ? x : 0;
    case Kind::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case Kind::kHardSigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case Kind::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case Kind::kSoftsign:
      return x / (1 + std::fabs(x));
    case Kind::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return x;
}

std::vector<std::string> DefaultActivations(const std::string& layer) {
  if (layer == "lstm") return {"sigmoid", "tanh", "tanh"};
  if (layer == "gru") return {"sigmoid", "tanh"};
  return {"tanh"};
}

absl::StatusOr<std::vector<Activation>> ParseActivations(std::vector<std::string> names,
                                                         const std::vector<std::string>& defaults, int64_t directions,
                                                         const std::vector<double>& alphas,
                                                         const std::vector<double>& betas) {
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  const size_t needed = defaults.size() * static_cast<size_t>(directions);
  if (names.size() != needed) {
    return absl::InvalidArgumentError(absl::StrCat("has ", names.size(), " activations where ", needed, " are needed"));
  }
  std::vector<Activation> activations;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const std::string lower = absl::AsciiStrToLower(name);
    const auto* known =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return lower == k.name; });
    if (known == std::end(kKnown)) {
      return absl::InvalidArgumentError(absl::StrCat("activation '", name, "' is not known"));
    }
    Activation activation{known->kind, known->alpha, known->beta};
    // The next alpha and beta are only for a function that has them.
    if (known->has_alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (known->has_beta && beta < betas.size()) activation.beta = betas[beta++];
    activations.push_back(activation);
  }
  return activations;
}

}  // namespace tcc::reference
