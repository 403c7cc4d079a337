// Deformable convolution in two axes: each result samples its operand where offsets say, in float64.
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

struct DeformShape {
  int64 channels, height, width;      ///< of the operand
  int64 outputs, rows, columns;       ///< of the result
  int64 depth, kernel_h, kernel_w;    ///< of the weights
  int64 per_group, per_offset;        ///< results of a group, channels of a group of offsets
  int64 offset_groups;
  int64 stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

/// Between four elements; those outside are zero.
template <class T>
TCC_DEVICE double sample_between(const T* plane, double y, double x, int64 height, int64 width) {
  if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return 0.0;
  const double fy = floor(y), fx = floor(x), wy = y - fy, wx = x - fx;
  const int64 row = static_cast<int64>(fy), column = static_cast<int64>(fx);
  const auto at = [&](int64 r, int64 c) {
    return r < 0 || c < 0 || r >= height || c >= width ? 0.0 : static_cast<double>(Plain<T>::load(plane, r * width + c));
  };
  return (1 - wy) * ((1 - wx) * at(row, column) + wx * at(row, column + 1)) +
         wy * ((1 - wx) * at(row + 1, column) + wx * at(row + 1, column + 1));
}

/// `bias` and `mask` may be null.
template <class T>
TCC_DEVICE void deform_conv(const T* x, const T* w, const T* offset, const T* bias, const T* mask, T* y,
                            const DeformShape& s, int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const int64 area = s.rows * s.columns, taps = s.kernel_h * s.kernel_w;
  const int64 at = index % area, output = index / area % s.outputs, batch = index / area / s.outputs;
  const int64 row = at / s.columns * s.stride_h - s.pad_h, column = at % s.columns * s.stride_w - s.pad_w;
  double sum = bias != nullptr ? static_cast<double>(Plain<T>::load(bias, output)) : 0.0;
  for (int64 d = 0; d < s.depth; ++d) {
    const int64 channel = output / s.per_group * s.depth + d, group = channel / s.per_offset;
    const T* plane = x + (batch * s.channels + channel) * s.height * s.width;
    for (int64 tap = 0; tap < taps; ++tap) {
      const int64 place = (batch * s.offset_groups + group) * taps + tap;
      const double tap_row = static_cast<double>(row + tap / s.kernel_w * s.dilation_h) +
                             static_cast<double>(Plain<T>::load(offset, place * 2 * area + at));
      const double tap_column = static_cast<double>(column + tap % s.kernel_w * s.dilation_w) +
                                static_cast<double>(Plain<T>::load(offset, (place * 2 + 1) * area + at));
      double value = sample_between(plane, tap_row, tap_column, s.height, s.width);
      if (mask != nullptr) value *= static_cast<double>(Plain<T>::load(mask, place * area + at));
      sum += value * static_cast<double>(Plain<T>::load(w, (output * s.depth + d) * taps + tap));
    }
  }
  y[index] = from_double<T>(sum);
}

}  // namespace tcc
