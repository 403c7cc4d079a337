// ONNX Resize: https://onnx.ai/onnx/operators/onnx__Resize.html
#include <cmath>
#include <limits>

#include "runtime/reference/lines.h"

namespace tcc::reference {
namespace {

struct Options {
  std::string mode, coordinate, nearest_mode;
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

// For each index of the resized axis `taps` source indices (clamped to the axis) and weights; `outside` marks those
// that take the extrapolation value.
struct AxisMap {
  int64_t taps = 1;
  std::vector<int64_t> sources;
  std::vector<double> weights;
  std::vector<bool> outside;
};

// The coordinate in the operand of index x of an axis resized from `in` to `out`.
double SourceCoordinate(const std::string& mode, double x, double scale, double in, double out, double start,
                        double end) {
  const double length = scale * in;  // before rounding down to out
  // (x + 0.5) / scale, exact where the scale is that of the extents: 4.5 must not become 4.4999...
  const double centre = scale == out / in ? (x + 0.5) * in / out : (x + 0.5) / scale;
  if (mode == "half_pixel") return centre - 0.5;
  if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / length) + centre - 0.5;
  if (mode == "pytorch_half_pixel") return out > 1 ? centre - 0.5 : 0;
  if (mode == "align_corners") return length == 1 || out == 1 ? 0 : x * (in - 1) / (length - 1);
  if (mode == "asymmetric") return scale == out / in ? x * in / out : x / scale;
  if (mode == "tf_half_pixel_for_nn") return centre;
  // tf_crop_and_resize
  return out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1) : 0.5 * (start + end) * (in - 1);
}

int64_t Nearest(const std::string& mode, double x) {
  // NaN and huge coordinates (from hostile scales) end at a bound of the axis by the caller's clamp.
  if (!(std::fabs(x) < 1e15)) return x > 0 ? int64_t{1} << 50 : -(int64_t{1} << 50);
  const double floor = std::floor(x);
  if (mode == "floor") return static_cast<int64_t>(floor);
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(x - floor >= 0.5 ? floor + 1 : floor);
  return static_cast<int64_t>(x - floor > 0.5 ? floor + 1 : floor);
}

double Triangle(double x) { return std::max(0.0, 1 - std::fabs(x)); }
// Keys' cubic convolution kernel.
double Cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return a * (((x - 5) * x + 8) * x - 4);
  return 0;
}

absl::StatusOr<AxisMap> MapAxis(const Options& options, int64_t in, int64_t out, double scale, double start,
                                double end) {
  AxisMap map;
  if (out > 0 && in == 0) return Invalid("an axis without elements cannot be resized to ", out);
  const bool nearest = options.mode == "nearest", cubic = options.mode == "cubic";
  // Downsampling with antialias widens the kernel by 1 / scale.
  const double shrink = options.antialias ? std::min(scale, 1.0) : 1.0;
  const double half = (cubic ? 2 : 1) / shrink;
  if (!nearest && !(half <= static_cast<double>(int64_t{1} << 31))) return OutOfRange("scale ", scale, " is too small");
  const int64_t first = nearest ? 0 : static_cast<int64_t>(std::floor(-half)) + 1;
  map.taps = nearest ? 1 : 2 - 2 * first;
  TCC_ASSIGN_OR_RETURN(const int64_t entries, CheckedMul(map.taps, out));
  map.sources.reserve(entries);
  map.weights.reserve(entries);
  for (int64_t i = 0; i < out; ++i) {
    const double x = SourceCoordinate(options.coordinate, static_cast<double>(i), scale, static_cast<double>(in),
                                      static_cast<double>(out), start, end);
    map.outside.push_back(options.coordinate == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(in - 1)));
    if (nearest) {
      map.sources.push_back(std::clamp<int64_t>(Nearest(options.nearest_mode, x), 0, in - 1));
      map.weights.push_back(1);
      continue;
    }
    const int64_t base = Nearest("ceil", x) - 1;  // the sample at or before x; ratio is in (0, 1]
    const double ratio = x - static_cast<double>(base);
    double sum = 0;
    for (int64_t t = first; t < first + map.taps; ++t) {
      const double distance = shrink * (static_cast<double>(t) - ratio);
      double weight = cubic ? Cubic(distance, options.cubic_a) : Triangle(distance);
      if (options.exclude_outside && (base + t < 0 || base + t >= in)) weight = 0;
      sum += weight;
      map.sources.push_back(std::clamp<int64_t>(base + t, 0, in - 1));
      map.weights.push_back(weight);
    }
    if ((options.antialias || options.exclude_outside) && sum != 0) {
      for (int64_t t = 1; t <= map.taps; ++t) map.weights[map.weights.size() - t] /= sum;
    }
  }
  return map;
}

// As an element: integers truncate and saturate, not a number is 0.
template <typename T>
T Saturated(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    // The largest 64-bit integers are no doubles: the limit is then one above.
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

// Resizes one axis of a row-major tensor.
template <typename W>
absl::StatusOr<Tensor> Apply(const Tensor& x, int axis, const AxisMap& map, int64_t out, double extrapolation) {
  Dims dims = x.dims();
  dims[axis] = out;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  const int64_t inner = Product(Extents(dims).subspan(axis + 1)), in = x.dim(axis);
  const int64_t outer = Product(Extents(dims).first(axis));
  for (int64_t o = 0; o < outer; ++o) {
    const W* xs = x.data_as<W>() + o * in * inner;
    W* ys = y.data_as<W>() + o * out * inner;
    for (int64_t i = 0; i < out; ++i, ys += inner) {
      std::fill_n(ys, inner, map.outside[i] ? Saturated<W>(extrapolation) : W{0});
      if (map.outside[i]) continue;
      for (int64_t t = i * map.taps; t < (i + 1) * map.taps; ++t) {
        const W* row = xs + map.sources[t] * inner;
        const W weight = static_cast<W>(map.weights[t]);
        if (weight == 0) continue;
        for (int64_t j = 0; j < inner; ++j) ys[j] += weight * row[j];
      }
    }
  }
  return y;
}

}  // namespace

Results Resize(const Call& call) {
  const Tensor& x = call.inputs[0];
  const int rank = x.rank();
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  TCC_ASSIGN_OR_RETURN(const std::vector<double> scales, call.attributes.Floats("scales"));
  const std::vector<double> roi = call.attributes.FloatsOr("roi", {});
  Options options;
  TCC_ASSIGN_OR_RETURN(options.mode, call.attributes.String("mode"));
  TCC_ASSIGN_OR_RETURN(options.coordinate, call.attributes.String("coordinate"));
  options.nearest_mode = call.attributes.StringOr("nearest_mode", "round_prefer_floor");
  options.cubic_a = call.attributes.FloatOr("cubic_coeff_a", -0.75);
  options.exclude_outside = call.attributes.IntOr("exclude_outside", 0) != 0;
  options.antialias = call.attributes.IntOr("antialias", 0) != 0;
  const double extrapolation = call.attributes.FloatOr("extrapolation_value", 0);
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic") {
    return Invalid("mode '", options.mode, "' is none of nearest, linear, cubic");
  }
  const bool crop = options.coordinate == "tf_crop_and_resize";
  if (static_cast<int>(scales.size()) != rank || static_cast<int>(type.dims.size()) != rank ||
      (crop && static_cast<int>(roi.size()) != 2 * rank)) {
    return Invalid("scales, extents and roi must fit the operand's rank ", rank);
  }
  // The axes one after another, in elements of type W.
  auto resize_axes = [&]<typename W>(Tensor wide) -> absl::StatusOr<Tensor> {
    for (int axis = 0; axis < rank; ++axis) {
      const double start = crop ? roi[axis] : 0, end = crop ? roi[axis + rank] : 1;
      if (!(scales[axis] > 0)) return Invalid("scale ", scales[axis], " of axis ", axis, " is not positive");
      if (scales[axis] == 1 && type.dims[axis] == x.dim(axis) && start == 0 && end == 1) continue;
      TCC_RETURN_IF_ERROR(NumElements(type.dims).status());
      TCC_ASSIGN_OR_RETURN(const AxisMap map, MapAxis(options, x.dim(axis), type.dims[axis], scales[axis], start, end));
      TCC_ASSIGN_OR_RETURN(wide, Apply<W>(wide, axis, map, type.dims[axis], extrapolation));
    }
    return wide;
  };
  // Nearest only moves elements. Through float64 that is exact for every dtype but 64-bit integers.
  if (options.mode == "nearest" && (x.dtype() == DType::kI64 || x.dtype() == DType::kU64)) {
    TCC_ASSIGN_OR_RETURN(const Tensor dense, x.Contiguous());
    TCC_ASSIGN_OR_RETURN(Tensor y, x.dtype() == DType::kI64 ? resize_axes.template operator()<int64_t>(dense)
                                                            : resize_axes.template operator()<uint64_t>(dense));
    return One(std::move(y));
  }
  return Dispatch(Numbers(), x.dtype(), [&]<typename T>() -> Results {
    TCC_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(DType::kF64, x.dims()));
    for (Runs runs(x.dims(), {x.strides(), wide.strides()}); runs.more(); runs.Next()) {
      for (int64_t i = 0; i < runs.length(); ++i) {
        wide.data_as<double>()[runs.offset(1) + i * runs.step(1)] =
            static_cast<double>(x.data_as<T>()[runs.offset(0) + i * runs.step(0)]);
      }
    }
    TCC_ASSIGN_OR_RETURN(wide, resize_axes.template operator()<double>(wide));
    TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), wide.dims()));
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      // Interpolated integers saturate where the cubic kernel overshoots.
      y.data_as<T>()[i] = Saturated<T>(wide.data_as<double>()[i]);
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
