#include "runtime/reference/conv.h"

namespace tcc::reference {

Results ConvTensor(const Tensor& input, const Tensor& w, const Window& window, int64_t groups, bool channels_last) {
  TCC_RETURN_IF_ERROR(CheckConv(input, w, groups));
  const Tensor x = ChannelsFirst(input, channels_last);
  const int axes = x.rank() - 2;
  const int64_t batch = x.dim(0), channels = x.dim(1), outputs = w.dim(0), depth = w.dim(1);
  if (groups < 1 || outputs % groups != 0 || channels % groups != 0 || depth != channels / groups) {
    return Invalid("w ", DimsText(w.dims()), " does not fit ", channels, " channels in ", groups, " groups");
  }
  Dims dims{batch, outputs};
  for (int axis = 0; axis < axes; ++axis) {
    TCC_ASSIGN_OR_RETURN(int64_t count, WindowCount(x.dim(axis + 2), window, axis, false));
    dims.push_back(count);
  }
  TCC_ASSIGN_OR_RETURN(LaidOut y, AllocateLaidOut(x.dtype(), dims, channels_last));
  if (y.stored.num_elements() == 0) return One(std::move(y.stored));
  const Extents in = Extents(x.dims()).subspan(2), out = Extents(dims).subspan(2);
  const Extents x_strides = Extents(x.strides()).subspan(2), y_strides = Extents(y.channels_first.strides()).subspan(2);
  const Taps taps = MakeTaps(window, x_strides);
  const int64_t tap_count = static_cast<int64_t>(taps.offsets.size());
  TCC_RETURN_IF_ERROR(Dispatch(Numbers(), x.dtype(), [&]<typename T>() -> absl::Status {
    std::vector<int64_t> y_offsets(kPanel);
    const int64_t rows = outputs / groups;
    for (int64_t g = 0; g < groups; ++g) {
      const std::vector<T> weights = Rows<T>(w, g * rows, rows, false, 0, depth);
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
                int64_t origin = 0;
                y_offsets[c] = 0;
                bool whole = true;  // the window lies inside the input
                Dims base(axes);
                for (int axis = 0; axis < axes; ++axis) {
                  base[axis] = at[c][axis] * window.strides[axis] - window.padding_low[axis];
                  origin += base[axis] * x_strides[axis];
                  y_offsets[c] += at[c][axis] * y_strides[axis];
                  whole = whole && base[axis] >= 0 &&
                          base[axis] + (window.kernel[axis] - 1) * window.dilations[axis] < in[axis];
                }
                for (int64_t t = 0; t < tap_count; ++t) {
                  bool inside = true;
                  for (int axis = 0; !whole && axis < axes; ++axis) {
                    const int64_t i = base[axis] + taps.steps[t][axis];
                    inside = inside && i >= 0 && i < in[axis];
                  }
                  A* target = panel + t * kPanel + c;
                  const int64_t step = tap_count * kPanel;
                  if (inside) {
                    const T* source = xs + origin + taps.offsets[t];
                    for (int64_t d = 0; d < depth; ++d) target[d * step] = static_cast<A>(source[d * x_channel]);
                  } else {
                    for (int64_t d = 0; d < depth; ++d) target[d * step] = A(0);
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

Results Conv(const Call& call) {
  const Tensor& w = call.inputs[1];
  TCC_ASSIGN_OR_RETURN(const int64_t groups, call.attributes.Int("groups"));
  if (w.rank() < 3) return Invalid("w must have rank 3 or more, got extents ", DimsText(w.dims()));
  TCC_ASSIGN_OR_RETURN(const Window window, ReadWindow(call, {w.dims().begin() + 2, w.dims().end()}));
  return ConvTensor(call.inputs[0], w, window, groups, call.attributes.IntOr("channels_last", 0) != 0);
}

}  // namespace tcc::reference
