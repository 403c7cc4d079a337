#include "runtime/reference/window.h"

namespace tcc::reference {

absl::StatusOr<Window> ReadWindow(const Call& call, std::vector<int64_t> kernel) {
  Window window;
  window.kernel = std::move(kernel);
  TCC_ASSIGN_OR_RETURN(window.strides, call.attributes.Ints("strides"));
  TCC_ASSIGN_OR_RETURN(window.padding_low, call.attributes.Ints("padding_low"));
  TCC_ASSIGN_OR_RETURN(window.padding_high, call.attributes.Ints("padding_high"));
  TCC_ASSIGN_OR_RETURN(window.dilations, call.attributes.Ints("dilations"));
  const size_t axes = window.kernel.size();
  if (window.strides.size() != axes || window.padding_low.size() != axes || window.padding_high.size() != axes ||
      window.dilations.size() != axes) {
    return Invalid("strides, paddings and dilations must have ", axes, " entries");
  }
  constexpr int64_t kLimit = int64_t{1} << 40;  // sums and products of these stay far from overflow
  for (size_t i = 0; i < axes; ++i) {
    if (window.strides[i] < 1 || window.dilations[i] < 1 || window.kernel[i] < 0) {
      return Invalid("strides and dilations must be positive");
    }
    if (window.strides[i] > kLimit || window.dilations[i] > kLimit || std::abs(window.padding_low[i]) > kLimit ||
        std::abs(window.padding_high[i]) > kLimit) {
      return OutOfRange("strides, dilations or paddings of axis ", i, " are too large");
    }
    TCC_RETURN_IF_ERROR(CheckedMul(window.kernel[i], window.dilations[i]).status());
  }
  return window;
}

absl::StatusOr<int64_t> WindowCount(int64_t extent, const Window& window, int axis, bool ceil_mode) {
  const int64_t stride = window.strides[axis];
  const int64_t span = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const int64_t padded = extent + window.padding_low[axis] + window.padding_high[axis];
  const int64_t room = padded - span;  // may be negative: floor and ceil differ from what / gives there
  int64_t count = (room >= 0 ? (room + (ceil_mode ? stride - 1 : 0)) / stride : ceil_mode ? -(-room / stride) : -1) + 1;
  if (ceil_mode && (count - 1) * stride >= extent + window.padding_low[axis]) --count;
  return std::max<int64_t>(count, 0);
}

Tensor ChannelsFirst(const Tensor& x, bool channels_last) {
  if (!channels_last || x.rank() < 2) return x;
  Dims permutation{0, x.rank() - 1};
  for (int axis = 1; axis < x.rank() - 1; ++axis) permutation.push_back(axis);
  return PermutedView(x, permutation);
}

absl::StatusOr<LaidOut> AllocateLaidOut(DType dtype, const Dims& dims, bool channels_last) {
  LaidOut y;
  if (!channels_last) {
    TCC_ASSIGN_OR_RETURN(y.stored, Tensor::Allocate(dtype, dims));
    y.channels_first = y.stored;
    return y;
  }
  Dims stored{dims[0]};
  stored.insert(stored.end(), dims.begin() + 2, dims.end());
  stored.push_back(dims[1]);
  TCC_ASSIGN_OR_RETURN(y.stored, Tensor::Allocate(dtype, stored));
  y.channels_first = ChannelsFirst(y.stored, true);
  return y;
}

Taps MakeTaps(const Window& window, Extents spatial_strides) {
  Taps taps;
  for (Counter position(window.kernel); position.more(); position.Next()) {
    Dims steps = position.index();
    int64_t offset = 0;
    for (int axis = 0; axis < window.axes(); ++axis) {
      steps[axis] *= window.dilations[axis];
      offset += steps[axis] * spatial_strides[axis];
    }
    taps.steps.push_back(std::move(steps));
    taps.offsets.push_back(offset);
  }
  return taps;
}

}  // namespace tcc::reference
