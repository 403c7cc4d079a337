// The activations of the ONNX RNN, GRU and LSTM by name: one table for the library kernels, which compute them, and for
// the importer, which emits ops for them. https://onnx.ai/onnx/operators/onnx__LSTM.html
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tcc::reference {

struct Activation {
  enum class Kind {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = Kind::kTanh;
  double alpha = 0, beta = 0;
  double operator()(double x) const;
};

// Of the layers "lstm", "gru" and "rnn": the names of the activations of one direction where a node gives none.
std::vector<std::string> DefaultActivations(const std::string& layer);

// The activations of all directions, those of the first one first. `names` in any case; none: `defaults` for each
// direction. `alphas` and `betas` go to those that have one, in their order; defaults of ONNX where they run out.
// InvalidArgument for names that are not known and where there are more or fewer than `directions` need.
absl::StatusOr<std::vector<Activation>> ParseActivations(std::vector<std::string> names,
                                                         const std::vector<std::string>& defaults, int64_t directions,
                                                         const std::vector<double>& alphas,
                                                         const std::vector<double>& betas);

}  // namespace tcc::reference
