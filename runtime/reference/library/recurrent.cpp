#include "runtime/reference/library/recurrent.h"

#include "absl/strings/ascii.h"

namespace tcc::reference {
namespace {

// A state [directions, batch, hidden] (batch first: [batch, directions, hidden]) as doubles, zeros where absent.
absl::StatusOr<std::vector<double>> ReadState(const Recurrent& net, const Tensor& state, const char* what) {
  if (!state.valid()) return std::vector<double>(net.directions * net.batch * net.hidden, 0.0);
  const Tensor ordered = net.batch_first && state.rank() == 3 ? PermutedView(state, {1, 0, 2}) : state;
  if (ordered.dims() != Dims{net.directions, net.batch, net.hidden}) {
    return Invalid(what, " has unexpected extents ", DimsText(state.dims()));
  }
  return ToVector<double>(ordered);
}

}  // namespace

absl::StatusOr<Recurrent> ReadRecurrent(const Call& call, int gates, const std::string& kernel) {
  Recurrent net;
  net.gates = gates;
  const DType dtype = call.inputs[0].dtype();
  for (int i = 0; i < 3; ++i) {
    TCC_RETURN_IF_ERROR(CheckRank(call.inputs[i], 3, "X, W and R"));
    TCC_RETURN_IF_ERROR(CheckDType(call.inputs[i], dtype, "W and R"));
  }
  net.batch_first = call.attributes.IntOr("layout", 0) != 0;
  TCC_ASSIGN_OR_RETURN(net.x, call.inputs[0].Contiguous());
  TCC_ASSIGN_OR_RETURN(net.w, call.inputs[1].Contiguous());
  TCC_ASSIGN_OR_RETURN(net.r, call.inputs[2].Contiguous());
  net.steps = net.x.dim(net.batch_first ? 1 : 0);
  net.batch = net.x.dim(net.batch_first ? 0 : 1);
  net.inputs = net.x.dim(2);
  net.hidden = net.r.dim(2);
  const std::string direction = absl::AsciiStrToLower(call.attributes.StringOr("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return Invalid("direction '", direction, "' is none of forward, reverse, bidirectional");
  }
  net.directions = direction == "bidirectional" ? 2 : 1;
  net.forward_first = direction != "reverse";
  TCC_ASSIGN_OR_RETURN(const int64_t width, CheckedMul(gates, net.hidden));
  TCC_RETURN_IF_ERROR(CheckedMul(2, width).status());
  if (net.w.dims() != Dims{net.directions, width, net.inputs} ||
      net.r.dims() != Dims{net.directions, width, net.hidden} ||
      call.attributes.IntOr("hidden_size", net.hidden) != net.hidden) {
    return Invalid("X ", DimsText(net.x.dims()), ", W ", DimsText(net.w.dims()), " and R ", DimsText(net.r.dims()),
                   " do not fit a ", direction, " layer");
  }
  if (call.inputs[3].valid()) {
    TCC_RETURN_IF_ERROR(CheckDType(call.inputs[3], dtype, "B"));
    TCC_ASSIGN_OR_RETURN(net.b, call.inputs[3].Contiguous());
    if (net.b.dims() != Dims{net.directions, 2 * width}) return Invalid("B has extents ", DimsText(net.b.dims()));
  }
  net.lengths.assign(net.batch, net.steps);
  if (call.inputs[4].valid()) {
    TCC_ASSIGN_OR_RETURN(net.lengths, Int64List(call.inputs[4], "sequence_lens"));
    if (static_cast<int64_t>(net.lengths.size()) != net.batch)
      return Invalid("sequence_lens must have one entry a sequence");
    for (int64_t length : net.lengths) {
      if (length < 0 || length > net.steps) return OutOfRange("sequence length ", length, " of ", net.steps, " steps");
    }
  }
  TCC_ASSIGN_OR_RETURN(net.h, ReadState(net, call.inputs[5], "initial_h"));
  net.clip = call.attributes.FloatOr("clip", 0);
  std::vector<std::string> names;
  if (const auto it = call.attributes.values().find("activations"); it != call.attributes.values().end()) {
    const auto* list = std::get_if<std::vector<std::string>>(&it->second);
    if (list == nullptr) return Invalid("attribute activations must be a list of strings");
    names = *list;
  }
  const std::vector<std::string> defaults = DefaultActivations(kernel);
  net.per_direction = static_cast<int>(defaults.size());
  TCC_ASSIGN_OR_RETURN(net.activations, ParseActivations(std::move(names), defaults, net.directions,
                                                         call.attributes.FloatsOr("activation_alpha", {}),
                                                         call.attributes.FloatsOr("activation_beta", {})));
  if (gates == 4) {
    net.has_cell = true;
    TCC_ASSIGN_OR_RETURN(net.c, ReadState(net, call.inputs[6], "initial_c"));
    if (call.inputs[7].valid()) {
      TCC_RETURN_IF_ERROR(CheckDType(call.inputs[7], dtype, "P"));
      TCC_ASSIGN_OR_RETURN(net.p, call.inputs[7].Contiguous());
      if (net.p.dims() != Dims{net.directions, 3 * net.hidden})
        return Invalid("P has extents ", DimsText(net.p.dims()));
    }
  }
  return net;
}

Results Rnn(const Call& call) {
  TCC_ASSIGN_OR_RETURN(Recurrent net, ReadRecurrent(call, 1, "rnn"));
  return Dispatch(Floats(), net.x.dtype(), [&]<typename T>() {
    const int64_t n = net.hidden;
    std::vector<double> next(n);
    return RunRecurrent<T>(net, [&](int64_t d, const T* x, double* h, double*) {
      const Activation& f = net.activations[d];
      const T* r = net.r.data_as<T>() + d * n * n;
      for (int64_t j = 0; j < n; ++j) {
        next[j] = f(net.Clipped(x[j] + Dot(r + j * n, h, n) + Bias<T>(net, d, false, j) + Bias<T>(net, d, true, j)));
      }
      std::copy(next.begin(), next.end(), h);
    });
  });
}

// Gates in the order z, r, h.
Results Gru(const Call& call) {
  TCC_ASSIGN_OR_RETURN(Recurrent net, ReadRecurrent(call, 3, "gru"));
  const bool linear_before_reset = call.attributes.IntOr("linear_before_reset", 0) != 0;
  return Dispatch(Floats(), net.x.dtype(), [&]<typename T>() {
    const int64_t n = net.hidden;
    std::vector<double> z(n), reset(n), gated(n), next(n);
    return RunRecurrent<T>(net, [&](int64_t d, const T* x, double* h, double*) {
      const Activation &f = net.activations[2 * d], &g = net.activations[2 * d + 1];
      const T* r = net.r.data_as<T>() + d * 3 * n * n;
      const auto bias = [&](int64_t i) { return Bias<T>(net, d, false, i) + Bias<T>(net, d, true, i); };
      for (int64_t j = 0; j < n; ++j) {
        z[j] = f(net.Clipped(x[j] + Dot(r + j * n, h, n) + bias(j)));
        reset[j] = f(net.Clipped(x[n + j] + Dot(r + (n + j) * n, h, n) + bias(n + j)));
        gated[j] = reset[j] * h[j];
      }
      for (int64_t j = 0; j < n; ++j) {
        const int64_t i = 2 * n + j;
        const double inner = linear_before_reset ? x[i] + reset[j] * (Dot(r + i * n, h, n) + Bias<T>(net, d, true, i)) +
                                                       Bias<T>(net, d, false, i)
                                                 : x[i] + Dot(r + i * n, gated.data(), n) + bias(i);
        next[j] = (1 - z[j]) * g(net.Clipped(inner)) + z[j] * h[j];
      }
      std::copy(next.begin(), next.end(), h);
    });
  });
}

// Gates in the order i, o, f, c; peepholes in the order i, o, f.
Results Lstm(const Call& call) {
  TCC_ASSIGN_OR_RETURN(Recurrent net, ReadRecurrent(call, 4, "lstm"));
  const bool input_forget = call.attributes.IntOr("input_forget", 0) != 0;
  return Dispatch(Floats(), net.x.dtype(), [&]<typename T>() {
    const int64_t n = net.hidden;
    std::vector<double> next(n);
    return RunRecurrent<T>(net, [&](int64_t d, const T* x, double* h, double* c) {
      const Activation *f = &net.activations[3 * d], *g = f + 1, *out = f + 2;
      const T* r = net.r.data_as<T>() + d * 4 * n * n;
      const T* p = net.p.valid() ? net.p.data_as<T>() + d * 3 * n : nullptr;
      const auto gate = [&](int64_t k, int64_t j) {
        const int64_t i = k * n + j;
        return x[i] + Dot(r + i * n, h, n) + Bias<T>(net, d, false, i) + Bias<T>(net, d, true, i);
      };
      const auto peephole = [&](int64_t k, int64_t j, double cell) { return p == nullptr ? 0 : p[k * n + j] * cell; };
      for (int64_t j = 0; j < n; ++j) {
        const double input = (*f)(net.Clipped(gate(0, j) + peephole(0, j, c[j])));
        const double forget = input_forget ? 1 - input : (*f)(net.Clipped(gate(2, j) + peephole(2, j, c[j])));
        c[j] = forget * c[j] + input * (*g)(net.Clipped(gate(3, j)));
        const double output = (*f)(net.Clipped(gate(1, j) + peephole(1, j, c[j])));
        next[j] = output * (*out)(c[j]);
      }
      std::copy(next.begin(), next.end(), h);
    });
  });
}

}  // namespace tcc::reference
