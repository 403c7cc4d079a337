// Sliding windows over spatial axes, for convolutions and pooling.
#pragma once

#include <vector>

#include "runtime/reference/support.h"

namespace tcc::reference {

struct Window {
  std::vector<int64_t> kernel, strides, padding_low, padding_high, dilations;
  int axes() const { return static_cast<int>(kernel.size()); }
};

// Attributes strides, padding_low, padding_high, dilations of `kernel` axes each; strides and dilations positive.
absl::StatusOr<Window> ReadWindow(const Call& call, std::vector<int64_t> kernel);

// Number of window positions along an axis. ceil_mode rounds up, but no window starts beyond the input and its low
// padding.
absl::StatusOr<int64_t> WindowCount(int64_t extent, const Window& window, int axis, bool ceil_mode);

// A tensor laid out [N, C, spatial..], channels_last or not, and back.
Tensor ChannelsFirst(const Tensor& x, bool channels_last);
// Allocates a tensor whose channels-first extents are `dims`, row-major in the layout asked for; returns both views.
struct LaidOut {
  Tensor stored;
  Tensor channels_first;
};
absl::StatusOr<LaidOut> AllocateLaidOut(DType dtype, const Dims& dims, bool channels_last);

// The offset of each kernel position, row-major, relative to the window's origin, per axis and as an element offset.
struct Taps {
  std::vector<Dims> steps;       // steps[t][axis] = kernel index * dilation
  std::vector<int64_t> offsets;  // sum of steps times x's spatial strides
};
Taps MakeTaps(const Window& window, Extents spatial_strides);

}  // namespace tcc::reference
