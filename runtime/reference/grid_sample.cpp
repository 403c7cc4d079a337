// ONNX GridSample for any number of spatial axes: https://onnx.ai/onnx/operators/onnx__GridSample.html
#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

constexpr int64_t kNone = -1;

// Mirrors x at low and high until it lies between them.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (!std::isfinite(x)) return low;
  double distance = std::fmod(std::fabs(x - low), 2 * range);
  if (distance > range) distance = 2 * range - distance;
  return low + distance;
}

struct AxisRule {
  double extent;
  double low, high;  // borders of the image, for reflection
  bool zeros, border;
  // With padding "border" a point outside is moved that near: for cubic, whose taps then lie on the border each, as
  // PyTorch and ONNX Runtime have it (ONNX's own reference moves the point onto the border).
  double margin;

  double Coordinate(double normalized, bool align_corners) const {
    return align_corners ? (normalized + 1) / 2 * (extent - 1) : ((normalized + 1) * extent - 1) / 2;
  }
  // The coordinate moved into the image as the padding mode says.
  double Wrap(double x) const {
    if (zeros || (x >= low && x <= high)) return x;
    if (border) return x >= -margin ? std::min(x, extent - 1 + margin) : -margin;  // NaN too
    return Reflect(x, low, high);
  }
  // The pixel at an integer coordinate, or kNone.
  int64_t Pixel(double i) const {
    if (i >= 0 && i < extent) return static_cast<int64_t>(i);
    if (zeros) return kNone;
    const double inside = border ? (i > 0 ? extent - 1 : 0) : Reflect(i, low, high);
    return static_cast<int64_t>(std::clamp(inside, 0.0, extent - 1));
  }
};

double Cubic(double x) {
  constexpr double a = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return a * (((x - 5) * x + 8) * x - 4);
  return 0;
}

}  // namespace

Results GridSample(const Call& call) {
  const Tensor& x = call.inputs[0];
  const int axes = x.rank() - 2;
  TCC_ASSIGN_OR_RETURN(const std::string mode, call.attributes.String("mode"));
  TCC_ASSIGN_OR_RETURN(const std::string padding, call.attributes.String("padding"));
  TCC_ASSIGN_OR_RETURN(const bool align_corners, Flag(call, "align_corners"));
  if (axes < 1) return Invalid("x must have rank 3 or more, got extents ", DimsText(x.dims()));
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[1], x.rank(), "the grid"));
  TCC_ASSIGN_OR_RETURN(const Tensor grid, call.inputs[1].Contiguous());
  if (grid.dim(0) != x.dim(0) || grid.dim(axes + 1) != axes) {
    return Invalid("the grid ", DimsText(grid.dims()), " does not fit x ", DimsText(x.dims()));
  }
  if (mode != "linear" && mode != "nearest" && mode != "cubic") {
    return Invalid("mode '", mode, "' is none of linear, nearest, cubic");
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return Invalid("padding '", padding, "' is none of zeros, border, reflection");
  }
  std::vector<AxisRule> rules;
  for (int axis = 0; axis < axes; ++axis) {
    const auto extent = static_cast<double>(x.dim(axis + 2));
    rules.push_back({extent, align_corners ? 0.0 : -0.5, align_corners ? extent - 1 : extent - 0.5,
                     padding == "zeros" || extent == 0, padding == "border", mode == "cubic" ? 2.0 : 0.0});
  }
  const int64_t taps = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  Dims dims{x.dim(0), x.dim(1)};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  if (y.num_elements() == 0) return One(std::move(y));
  const int64_t points = Product(Extents(dims).subspan(2));
  const Dims tap_dims(axes, taps);
  return Dispatch(Floats(), x.dtype(), [&]<typename T>() -> Results {
    const auto locations = grid.dtype() == x.dtype() ? absl::OkStatus() : CheckDType(grid, x.dtype(), "the grid");
    TCC_RETURN_IF_ERROR(locations);
    std::vector<int64_t> pixels(axes * taps);
    std::vector<double> weights(axes * taps);
    for (int64_t n = 0; n < x.dim(0); ++n) {
      for (int64_t p = 0; p < points; ++p) {
        const T* at = grid.data_as<T>() + (n * points + p) * axes;
        for (int axis = 0; axis < axes; ++axis) {
          const AxisRule& rule = rules[axis];
          double c = rule.Coordinate(at[axes - 1 - axis], align_corners);
          if (mode == "nearest") c = std::nearbyint(c);  // ties to even
          c = rule.Wrap(c);
          if (std::isnan(c)) c = -1e30;  // outside
          const double base = mode == "nearest" ? std::round(c) : std::floor(c) - (mode == "cubic" ? 1 : 0);
          for (int64_t t = 0; t < taps; ++t) {
            const double i = base + static_cast<double>(t);
            pixels[axis * taps + t] = rule.Pixel(i);
            weights[axis * taps + t] = mode == "nearest"  ? 1
                                       : mode == "linear" ? std::max(0.0, 1 - std::fabs(c - i))
                                                          : Cubic(c - i);
          }
        }
        for (int64_t channel = 0; channel < x.dim(1); ++channel) {
          const T* xs = x.data_as<T>() + n * x.strides()[0] + channel * x.strides()[1];
          double sum = 0;
          for (Counter tap(tap_dims); tap.more(); tap.Next()) {
            double weight = 1;
            int64_t offset = 0;
            bool inside = true;
            for (int axis = 0; axis < axes; ++axis) {
              const int64_t k = axis * taps + tap[axis];
              weight *= weights[k];
              inside = inside && pixels[k] != kNone;
              offset += pixels[k] * x.strides()[axis + 2];
            }
            if (inside && weight != 0) sum += weight * xs[offset];
          }
          y.data_as<T>()[(n * x.dim(1) + channel) * points + p] = static_cast<T>(sum);
        }
      }
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
