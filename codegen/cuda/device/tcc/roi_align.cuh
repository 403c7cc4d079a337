// ONNX RoiAlign: averages or maxima of bilinear samples in the bins of regions. In double, as the reference.
#pragma once
#include "tcc/keys.cuh"

namespace tcc {

TCC_DEVICE double roi_value(double x) { return x; }
TCC_DEVICE double roi_value(float x) { return static_cast<double>(x); }
TCC_DEVICE double roi_value(__half x) { return static_cast<double>(to_float(x)); }
TCC_DEVICE double roi_value(__nv_bfloat16 x) { return static_cast<double>(to_float(x)); }
template <class T>
TCC_DEVICE T roi_result(double x) { return from_float<T>(static_cast<float>(x)); }
template <>
TCC_DEVICE double roi_result<double>(double x) { return x; }

struct RoiSample {
  int64 offsets[4];
  double weights[4];

  /// Of a plane; outside by more than one pixel it is 0, on the border it clamps.
  TCC_DEVICE RoiSample(double y, double x, int64 height, int64 width) : offsets{0, 0, 0, 0}, weights{0, 0, 0, 0} {
    if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return;
    y = y < 0 ? 0 : y;
    x = x < 0 ? 0 : x;
    int64 y0 = static_cast<int64>(y), x0 = static_cast<int64>(x), y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= height - 1) y0 = y1 = height - 1, y = static_cast<double>(y0);
    if (x0 >= width - 1) x0 = x1 = width - 1, x = static_cast<double>(x0);
    const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
    offsets[0] = y0 * width + x0;
    offsets[1] = y0 * width + x1;
    offsets[2] = y1 * width + x0;
    offsets[3] = y1 * width + x1;
    weights[0] = (1 - fy) * (1 - fx);
    weights[1] = (1 - fy) * fx;
    weights[2] = fy * (1 - fx);
    weights[3] = fy * fx;
  }
};

struct RoiBins {
  int64 channels, height, width, rows, columns;
  int64 ratio;       // samples of a bin along each axis; 0: as many as pixels
  double scale, offset;
  int64 batches;
};

/// Element (region, channel, row, column), one a thread. Errors: a batch that is not there, a region too large to sample.
template <bool MAX, bool AT_LEAST_ONE, class T, class Batch>
TCC_DEVICE void roi_align(const T* x, const T* rois, const Batch* batch_of, T* y, const RoiBins& bins, int64 count,
                          long long* error) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const int64 column = index % bins.columns, row = index / bins.columns % bins.rows;
  const int64 channel = index / bins.columns / bins.rows % bins.channels;
  const int64 region = index / bins.columns / bins.rows / bins.channels;
  const T* roi = rois + region * 4;
  const auto corner = [&](int i) { return roi_value(roi[i]) * bins.scale - bins.offset; };
  const double left = corner(0), top = corner(1);
  double w = corner(2) - left, h = corner(3) - top;
  if (AT_LEAST_ONE) {
    w = w < 1.0 ? 1.0 : w;
    h = h < 1.0 ? 1.0 : h;
  }
  const double bin_h = h / static_cast<double>(bins.rows), bin_w = w / static_cast<double>(bins.columns);
  const auto grid = [&](double bin) -> int64 {
    if (bins.ratio > 0) return bins.ratio;
    if (!(bin > -1e300 && bin < 1e4)) return -1;
    const double up = ceil(bin);
    return up > 0 ? static_cast<int64>(up) : 0;
  };
  const int64 grid_h = grid(bin_h), grid_w = grid(bin_w);
  const int64 batch = static_cast<int64>(batch_of[region]);
  if (grid_h < 0 || grid_w < 0 || batch < 0 || batch >= bins.batches) {
    report_error(error, 1);  // kTccIndexOutOfRange
    return;
  }
  const T* plane = x + (batch * bins.channels + channel) * bins.height * bins.width;
  double value = 0;
  const double samples = static_cast<double>(grid_h * grid_w);
  if (bins.height > 0 && bins.width > 0) {
    for (int64 p = 0; p < grid_h; ++p)
      for (int64 q = 0; q < grid_w; ++q) {
        const RoiSample sample(
            top + bin_h * (static_cast<double>(row) + (static_cast<double>(p) + 0.5) / static_cast<double>(grid_h)),
            left + bin_w * (static_cast<double>(column) + (static_cast<double>(q) + 0.5) / static_cast<double>(grid_w)),
            bins.height, bins.width);
        double here = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (MAX) {
            // The maximum of the weighted corners, not of the interpolated values.
            const double one = sample.weights[i] * roi_value(plane[sample.offsets[i]]);
            here = i == 0 || here < one ? one : here;
          } else if (sample.weights[i] != 0) {
            here += sample.weights[i] * roi_value(plane[sample.offsets[i]]);
          }
        }
        if (MAX)
          value = (p == 0 && q == 0) || value < here ? here : value;
        else
          value += here / samples;
      }
  }
  y[index] = roi_result<T>(value);
}

}  // namespace tcc
