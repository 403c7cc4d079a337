// What the ONNX RNN, GRU and LSTM share: operands in one layout, the walk over steps and directions, activations.
// https://onnx.ai/onnx/operators/onnx__LSTM.html and its siblings.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "runtime/reference/activation.h"
#include "runtime/reference/gemm.h"

namespace tcc::reference {

// Attributes of all three: hidden_size, direction (forward, reverse, bidirectional), activations (a list for each
// direction), activation_alpha, activation_beta, clip, layout, and per kind input_forget (LSTM), linear_before_reset
// (GRU).
struct Recurrent {
  int gates = 1;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  bool forward_first = true;            // false: direction "reverse"
  bool batch_first = false;             // layout 1
  double clip = 0;                      // 0: none
  std::vector<Activation> activations;  // `per_direction` for each direction
  int per_direction = 1;
  Tensor x, w, r, b, p;          // packed; b and p may be invalid
  std::vector<int64_t> lengths;  // of each sequence
  std::vector<double> h, c;      // [directions, batch, hidden], the state
  bool has_cell = false;

  double Clipped(double v) const { return clip > 0 ? std::min(std::max(v, -clip), clip) : v; }
};

// `kernel`: lstm, gru or rnn.
absl::StatusOr<Recurrent> ReadRecurrent(const Call& call, int gates, const std::string& kernel);

// Sum of a[i] * b[i], in eight partial sums so that the loop vectorises.
template <typename T>
double Dot(const T* a, const double* b, int64_t n) {
  double partial[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) partial[k] += static_cast<double>(a[i + k]) * b[i + k];
  }
  double sum = 0;
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  for (double v : partial) sum += v;
  return sum;
}

// Runs cell(direction, gates of the input, h, c) for every step of every sequence, where `gates of the input` points to
// gates * hidden values x W^T (without biases), h and c to the state of one sequence, which the cell replaces.
// Returns Y, Y_h and, with a cell state, Y_c.
template <typename T, typename Cell>
Results RunRecurrent(Recurrent& net, Cell cell) {
  const int64_t hidden = net.hidden, width = net.gates * hidden;
  const auto zeros = [&](const Dims& first, const Dims& last) {
    return Zeros(DTypeOf<T>(), net.batch_first ? last : first);
  };
  TCC_ASSIGN_OR_RETURN(
      Tensor y, zeros({net.steps, net.directions, net.batch, hidden}, {net.batch, net.steps, net.directions, hidden}));
  TCC_ASSIGN_OR_RETURN(Tensor y_h, zeros({net.directions, net.batch, hidden}, {net.batch, net.directions, hidden}));
  Tensor y_c;
  if (net.has_cell) {
    TCC_ASSIGN_OR_RETURN(y_c, y_h.Clone());
  }
  // The input's share of all gates at once: rows are (step, batch) of x.
  TCC_ASSIGN_OR_RETURN(const Tensor projected, Tensor::Allocate(DTypeOf<T>(), {net.x.dim(0) * net.x.dim(1), width}));
  for (int64_t d = 0; d < net.directions; ++d) {
    const bool forward = net.directions == 2 ? d == 0 : net.forward_first;
    if (projected.num_elements() != 0) {
      GemmTensors<T>(net.x.Reshaped({net.x.dim(0) * net.x.dim(1), net.inputs}),
                     net.w.View({net.inputs, width}, {1, net.inputs}, d * width * net.inputs), projected);
    }
    for (int64_t n = 0; n < net.batch; ++n) {
      double* h = net.h.data() + (d * net.batch + n) * hidden;
      double* c = net.has_cell ? net.c.data() + (d * net.batch + n) * hidden : nullptr;
      for (int64_t s = 0; s < net.lengths[n]; ++s) {
        const int64_t t = forward ? s : net.lengths[n] - 1 - s;
        const int64_t row = net.batch_first ? n * net.steps + t : t * net.batch + n;
        cell(d, projected.data_as<T>() + row * width, h, c);
        T* out = y.data_as<T>() + (net.batch_first ? (n * net.steps + t) * net.directions + d
                                                   : (t * net.directions + d) * net.batch + n) *
                                      hidden;
        for (int64_t j = 0; j < hidden; ++j) out[j] = static_cast<T>(h[j]);
      }
      const int64_t slot = (net.batch_first ? n * net.directions + d : d * net.batch + n) * hidden;
      for (int64_t j = 0; j < hidden; ++j) {
        y_h.data_as<T>()[slot + j] = static_cast<T>(h[j]);
        if (net.has_cell) y_c.data_as<T>()[slot + j] = static_cast<T>(c[j]);
      }
    }
  }
  std::vector<Tensor> results{std::move(y), std::move(y_h)};
  if (net.has_cell) results.push_back(std::move(y_c));
  return results;
}

// Bias of gate row `i` of a direction: the W half or the R half.
template <typename T>
double Bias(const Recurrent& net, int64_t direction, bool recurrent, int64_t i) {
  if (!net.b.valid()) return 0;
  const int64_t width = net.gates * net.hidden;
  return net.b.data_as<T>()[direction * 2 * width + (recurrent ? width : 0) + i];
}

}  // namespace tcc::reference
