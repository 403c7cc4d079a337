// Regions of interest: ONNX RoiAlign and MaxRoiPool.
#include <algorithm>
#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

constexpr int64_t kMaxPooled = 1 << 20;

// Bilinear sample of a plane; outside by more than one pixel it is 0, on the border it clamps.
template <typename T>
struct Sample {
  int64_t offsets[4] = {};
  double weights[4] = {};

  Sample(double y, double x, int64_t height, int64_t width, int64_t row, int64_t column) {
    if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return;
    if (height == 0 || width == 0) return;
    y = std::max(y, 0.0);
    x = std::max(x, 0.0);
    int64_t y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x), y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= height - 1) y0 = y1 = height - 1, y = static_cast<double>(y0);
    if (x0 >= width - 1) x0 = x1 = width - 1, x = static_cast<double>(x0);
    const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
    const int64_t ys[2] = {y0, y1}, xs[2] = {x0, x1};
    const double wy[2] = {1 - fy, fy}, wx[2] = {1 - fx, fx};
    for (int i = 0; i < 4; ++i) {
      offsets[i] = ys[i / 2] * row + xs[i % 2] * column;
      weights[i] = wy[i / 2] * wx[i % 2];
    }
  }
  double Average(const T* plane) const {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      if (weights[i] != 0) sum += weights[i] * plane[offsets[i]];
    }
    return sum;
  }
  // ONNX takes the maximum of the weighted corners, not of the interpolated values.
  double Max(const T* plane) const {
    double max = weights[0] * plane[offsets[0]];
    for (int i = 1; i < 4; ++i) max = std::max(max, weights[i] * plane[offsets[i]]);
    return max;
  }
};

}  // namespace

// RoiAlign(x [N, C, H, W], rois [R, 4] of (x1, y1, x2, y2), batch_indices [R]; output_height, output_width,
// sampling_ratio, spatial_scale, mode avg or max, coordinate_transformation_mode half_pixel or output_half_pixel) ->
// [R, C, oh, ow].
Results RoiAlign(const Call& call) {
  const Tensor &x = call.inputs[0], &rois = call.inputs[1];
  TCC_RETURN_IF_ERROR(CheckRank(x, 4, "x"));
  TCC_RETURN_IF_ERROR(CheckRank(rois, 2, "rois"));
  const int64_t oh = call.attributes.IntOr("output_height", 1), ow = call.attributes.IntOr("output_width", 1);
  const int64_t ratio = call.attributes.IntOr("sampling_ratio", 0);
  const double scale = call.attributes.FloatOr("spatial_scale", 1);
  const std::string mode = call.attributes.StringOr("mode", "avg");
  const std::string coordinates = call.attributes.StringOr("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return Invalid("mode '", mode, "' is none of avg, max");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return Invalid("coordinate_transformation_mode '", coordinates, "' is none of half_pixel, output_half_pixel");
  }
  const bool half_pixel = coordinates == "half_pixel";
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> batches, Int64List(call.inputs[2], "batch_indices"));
  const int64_t count = rois.dim(0);
  if (rois.dim(1) != 4 || static_cast<int64_t>(batches.size()) != count)
    return Invalid("rois and batch_indices do not fit");
  if (oh < 0 || ow < 0 || oh > kMaxPooled || ow > kMaxPooled || ratio < 0 || ratio > 1024) {
    return OutOfRange("output ", oh, " x ", ow, " with sampling ratio ", ratio);
  }
  for (int64_t b : batches) {
    if (b < 0 || b >= x.dim(0)) return OutOfRange("index ", b, " is out of range for axis 0 of extent ", x.dim(0));
  }
  TCC_ASSIGN_OR_RETURN(const std::vector<double> boxes, ToVector<double>(rois));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), {count, x.dim(1), oh, ow}));
  const int64_t height = x.dim(2), width = x.dim(3);
  return Dispatch(Floats(), x.dtype(), [&]<typename T>() -> Results {
    for (int64_t r = 0; r < count; ++r) {
      const double offset = half_pixel ? 0.5 : 0.0;
      const double left = boxes[r * 4] * scale - offset, top = boxes[r * 4 + 1] * scale - offset;
      double w = boxes[r * 4 + 2] * scale - offset - left, h = boxes[r * 4 + 3] * scale - offset - top;
      if (!half_pixel) {
        w = std::max(w, 1.0);
        h = std::max(h, 1.0);
      }
      const double bin_h = h / static_cast<double>(oh), bin_w = w / static_cast<double>(ow);
      const auto grid = [&](double bin) -> int64_t {
        if (ratio > 0) return ratio;
        return std::isfinite(bin) && bin < 1e4 ? std::max<int64_t>(static_cast<int64_t>(std::ceil(bin)), 0) : -1;
      };
      const int64_t gh = grid(bin_h), gw = grid(bin_w);
      if (gh < 0 || gw < 0) return OutOfRange("region ", r, " is too large");
      for (int64_t i = 0; i < oh; ++i) {
        for (int64_t j = 0; j < ow; ++j) {
          std::vector<Sample<T>> samples;
          for (int64_t p = 0; p < gh; ++p) {
            for (int64_t q = 0; q < gw; ++q) {
              samples.emplace_back(
                  top + bin_h * (static_cast<double>(i) + (static_cast<double>(p) + 0.5) / static_cast<double>(gh)),
                  left + bin_w * (static_cast<double>(j) + (static_cast<double>(q) + 0.5) / static_cast<double>(gw)),
                  height, width, x.strides()[2], x.strides()[3]);
            }
          }
          for (int64_t c = 0; c < x.dim(1); ++c) {
            const T* plane = x.data_as<T>() + batches[r] * x.strides()[0] + c * x.strides()[1];
            double value = 0;
            if (height > 0 && width > 0) {
              for (size_t s = 0; s < samples.size(); ++s) {
                if (mode == "avg") {
                  value += samples[s].Average(plane) / static_cast<double>(samples.size());
                } else {
                  value = s == 0 ? samples[s].Max(plane) : std::max(value, samples[s].Max(plane));
                }
              }
            }
            y.data_as<T>()[((r * x.dim(1) + c) * oh + i) * ow + j] = static_cast<T>(value);
          }
        }
      }
    }
    return One(std::move(y));
  });
}

// MaxRoiPool(x [N, C, H, W], rois [R, 5] of (batch, x1, y1, x2, y2); pooled_shape, spatial_scale). An empty bin is 0.
Results MaxRoiPool(const Call& call) {
  const Tensor &x = call.inputs[0], &rois = call.inputs[1];
  TCC_RETURN_IF_ERROR(CheckRank(x, 4, "x"));
  TCC_RETURN_IF_ERROR(CheckRank(rois, 2, "rois"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> pooled, call.attributes.Ints("pooled_shape"));
  const double scale = call.attributes.FloatOr("spatial_scale", 1);
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 || rois.dim(1) != 5)
    return Invalid("bad pooled_shape or rois");
  TCC_ASSIGN_OR_RETURN(const std::vector<double> boxes, ToVector<double>(rois));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), {rois.dim(0), x.dim(1), pooled[0], pooled[1]}));
  return Dispatch(Floats(), x.dtype(), [&]<typename T>() -> Results {
    T* ys = y.data_as<T>();
    for (int64_t r = 0; r < rois.dim(0); ++r) {
      const double* box = boxes.data() + r * 5;
      if (!(box[0] >= 0 && box[0] < static_cast<double>(x.dim(0)))) {
        return OutOfRange("index ", box[0], " is out of range for axis 0 of extent ", x.dim(0));
      }
      double corner[4];
      for (int i = 0; i < 4; ++i) {
        corner[i] = std::round(box[i + 1] * scale);
        if (!(std::fabs(corner[i]) < 1e9)) return OutOfRange("region ", r, " is too large");
      }
      const double w = std::max(corner[2] - corner[0] + 1, 1.0), h = std::max(corner[3] - corner[1] + 1, 1.0);
      for (int64_t c = 0; c < x.dim(1); ++c) {
        const T* plane = x.data_as<T>() + static_cast<int64_t>(box[0]) * x.strides()[0] + c * x.strides()[1];
        for (int64_t i = 0; i < pooled[0]; ++i) {
          for (int64_t j = 0; j < pooled[1]; ++j) {
            const auto bounds = [](int64_t k, double size, int64_t bins, double start, int64_t extent) {
              const double bin = size / static_cast<double>(bins);
              const auto limit = static_cast<double>(extent);
              return std::pair<int64_t, int64_t>(
                  static_cast<int64_t>(std::clamp(std::floor(static_cast<double>(k) * bin) + start, 0.0, limit)),
                  static_cast<int64_t>(std::clamp(std::ceil(static_cast<double>(k + 1) * bin) + start, 0.0, limit)));
            };
            const auto [top, bottom] = bounds(i, h, pooled[0], corner[1], x.dim(2));
            const auto [left, right] = bounds(j, w, pooled[1], corner[0], x.dim(3));
            T best = top < bottom && left < right ? LowestValue<T>() : T(0);
            for (int64_t p = top; p < bottom; ++p) {
              for (int64_t q = left; q < right; ++q) best = MaxOf(best, plane[p * x.strides()[2] + q * x.strides()[3]]);
            }
            *ys++ = best;
          }
        }
      }
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
