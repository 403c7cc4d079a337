#include "runtime/reference/conv.h"

namespace tcc::reference {

// Each output gathers the inputs that reach it: input i contributes through tap t where i * stride + t * dilation is
// the output's index plus the low padding.
Results ConvTranspose(const Call& call) {
  const Tensor& w = call.inputs[1];
  const bool channels_last = call.attributes.IntOr("channels_last", 0) != 0;
  TCC_ASSIGN_OR_RETURN(const int64_t groups, call.attributes.Int("groups"));
  TCC_RETURN_IF_ERROR(CheckConv(call.inputs[0], w, groups));
  TCC_ASSIGN_OR_RETURN(const Window window, ReadWindow(call, {w.dims().begin() + 2, w.dims().end()}));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding, call.attributes.Ints("output_padding"));
  const Tensor x = ChannelsFirst(call.inputs[0], channels_last);
  const int axes = x.rank() - 2;
  const int64_t batch = x.dim(0), channels = x.dim(1), rows = w.dim(1);
  if (groups < 1 || channels % groups != 0 || w.dim(0) != channels) {
    return Invalid("w ", DimsText(w.dims()), " does not fit ", channels, " channels in ", groups, " groups");
  }
  if (static_cast<int>(output_padding.size()) != axes) return Invalid("output_padding must have ", axes, " entries");
  TCC_ASSIGN_OR_RETURN(const int64_t outputs, CheckedMul(rows, groups));
  Dims dims{batch, outputs};
  for (int axis = 0; axis < axes; ++axis) {
    TCC_ASSIGN_OR_RETURN(int64_t extent, CheckedMul(window.strides[axis], x.dim(axis + 2) - 1));
    extent += output_padding[axis] + (window.kernel[axis] - 1) * window.dilations[axis] + 1 - window.padding_low[axis] -
              window.padding_high[axis];
    dims.push_back(std::max<int64_t>(extent, 0));
  }
  TCC_ASSIGN_OR_RETURN(LaidOut y, AllocateLaidOut(x.dtype(), dims, channels_last));
  if (y.stored.num_elements() == 0) return One(std::move(y.stored));
  const Extents in = Extents(x.dims()).subspan(2), out = Extents(dims).subspan(2);
  const Extents x_strides = Extents(x.strides()).subspan(2), y_strides = Extents(y.channels_first.strides()).subspan(2);
  const Taps taps = MakeTaps(window, x_strides);
  const int64_t tap_count = static_cast<int64_t>(taps.offsets.size());
  TCC_RETURN_IF_ERROR(Dispatch(Numbers(), x.dtype(), [&]<typename T>() -> absl::Status {
    std::vector<int64_t> y_offsets(kPanel);
    const int64_t depth = channels / groups;
    for (int64_t g = 0; g < groups; ++g) {
      const std::vector<T> weights = Rows<T>(w, 0, rows, true, g * depth, depth);
      for (int64_t n = 0; n < batch; ++n) {
        const T* xs = x.data_as<T>() + n * x.strides()[0] + g * depth * x.strides()[1];
        T* ys = y.channels_first.data_as<T>() + n * y.channels_first.strides()[0] +
                g * rows * y.channels_first.strides()[1];
        const int64_t y_row = y.channels_first.strides()[1], x_channel = x.strides()[1];
        int64_t first = 0;
        Gemm<T>(
            weights.data(), depth * tap_count, 1, rows, Product(out), depth * tap_count,
            [&](int64_t j, int columns, auto* panel) {
              using A = std::remove_reference_t<decltype(*panel)>;
              first = j;
              const std::vector<Dims> at = Positions(out, j, columns);
              for (int c = 0; c < columns; ++c) {
                y_offsets[c] = 0;
                for (int axis = 0; axis < axes; ++axis) y_offsets[c] += at[c][axis] * y_strides[axis];
                for (int64_t t = 0; t < tap_count; ++t) {
                  bool inside = true;
                  int64_t origin = 0;
                  for (int axis = 0; axis < axes; ++axis) {
                    const int64_t reach = at[c][axis] + window.padding_low[axis] - taps.steps[t][axis];
                    const int64_t i = reach / window.strides[axis];
                    inside = inside && reach >= 0 && reach % window.strides[axis] == 0 && i < in[axis];
                    origin += i * x_strides[axis];
                  }
                  A* target = panel + t * kPanel + c;
                  const int64_t step = tap_count * kPanel;
                  for (int64_t d = 0; d < depth; ++d) {
                    target[d * step] = inside ? static_cast<A>(xs[origin + d * x_channel]) : A(0);
                  }
                }
              }
            },
            [&](int64_t i, int64_t j, T value) { ys[i * y_row + y_offsets[j - first]] = value; });
      }
    }
    return absl::OkStatus();
  }));
  return One(std::move(y.stored));
}

}  // namespace tcc::reference
