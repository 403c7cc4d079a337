// ONNX Resize, also with scales or sizes that are data: each result is the sum over its axes' samples, from the last axis to the
// first, in float64, as the reference takes one axis after the other.
#pragma once
#include "tcc/narrow.cuh"
#include "tcc/shapes.cuh"

namespace tcc {

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Coordinate {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize
};
enum class NearestMode { kFloor, kCeil, kRoundPreferCeil, kRoundPreferFloor };
enum class AspectRatio { kStretch, kNotLarger, kNotSmaller };

/// What an op says once.
template <Interpolation MODE, Coordinate COORDINATE, NearestMode NEAREST, bool ANTIALIAS, bool EXCLUDE_OUTSIDE>
struct Sampling {
  static constexpr Interpolation kMode = MODE;
  static constexpr bool kNormalise = ANTIALIAS || EXCLUDE_OUTSIDE;
  static constexpr bool kCrops = COORDINATE == Coordinate::kTfCropAndResize;
  double cubic_a, extrapolation;

  /// Downsampling with antialiasing widens the kernel.
  static TCC_DEVICE double shrink(double scale) { return ANTIALIAS && scale < 1 ? scale : 1.0; }
  static TCC_DEVICE double half_width(double scale) { return (MODE == Interpolation::kCubic ? 2.0 : 1.0) / shrink(scale); }

  static TCC_DEVICE int64 first(double scale) {
    const bool cubic = MODE == Interpolation::kCubic;
    if (!ANTIALIAS || scale >= 1) return cubic ? -1 : 0;
    return static_cast<int64>(floor(-half_width(scale))) + 1;
  }

  /// The coordinate of index x in the operand's axis.
  static TCC_DEVICE double coordinate(double x, double scale, double in, double out, double start, double end) {
    const double length = scale * in;
    // Exact where the scale is that of the extents.
    const bool exact = scale == out / in;
    const double centre = exact ? (x + 0.5) * in / out : (x + 0.5) / scale;
    switch (COORDINATE) {
      case Coordinate::kHalfPixel:
        return centre - 0.5;
      case Coordinate::kHalfPixelSymmetric:
        return in / 2 * (1 - out / length) + centre - 0.5;
      case Coordinate::kPytorchHalfPixel:
        return out > 1 ? centre - 0.5 : 0.0;
      case Coordinate::kAlignCorners:
        return length == 1 || out == 1 ? 0.0 : x * (in - 1) / (length - 1);
      case Coordinate::kAsymmetric:
        return exact ? x * in / out : x / scale;
      case Coordinate::kTfHalfPixelForNn:
        return centre;
      default:
        return out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1) : 0.5 * (start + end) * (in - 1);
    }
  }
  template <NearestMode HOW>
  static TCC_DEVICE int64 whole(double x) {
    if (!(fabs(x) < 1e15)) return x > 0 ? 1ll << 50 : -(1ll << 50);
    const double below = floor(x);
    if (HOW == NearestMode::kFloor) return static_cast<int64>(below);
    if (HOW == NearestMode::kCeil) return static_cast<int64>(ceil(x));
    if (HOW == NearestMode::kRoundPreferCeil) return static_cast<int64>(x - below >= 0.5 ? below + 1 : below);
    return static_cast<int64>(x - below > 0.5 ? below + 1 : below);
  }
  static TCC_DEVICE int64 nearest(double x, int64 in) { return tcc::max(tcc::min(whole<NEAREST>(x), in - 1), int64(0)); }

  TCC_DEVICE double weight(double distance, int64 at, int64 in) const {
    if (EXCLUDE_OUTSIDE && (at < 0 || at >= in)) return 0.0;
    const double x = fabs(distance), a = cubic_a;
    if (MODE == Interpolation::kLinear) return x < 1 ? 1 - x : 0.0;
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0.0;
  }
};

template <int RANK>
struct Resized {
  bool good = true;
  Axes<RANK> in, out;
  double scale[RANK > 0 ? RANK : 1], start[RANK > 0 ? RANK : 1], end[RANK > 0 ? RANK : 1];
};
template <int RANK>
TCC_DEVICE Resized<RANK> unresized(const Axes<RANK>& in) {
  Resized<RANK> axes;
  axes.in = axes.out = in;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    axes.scale[a] = axes.end[a] = 1;
    axes.start[a] = 0;
  }
  return axes;
}
template <int RANK>
TCC_DEVICE void set_extent(Resized<RANK>& axes, int a, double size) {
  const bool fits = size >= 0 && size < 1e15;
  axes.good = axes.good && fits;
  axes.out.at[a] = fits ? static_cast<int64>(size) : 0;
}
/// `entry`: where an axis is in the list, -1 for none.
template <int RANK, class T>
TCC_DEVICE void read_scales(Resized<RANK>& axes, const Axes<RANK>& entry, const T* scales, int64 count, int64 wanted) {
  axes.good = axes.good && count == wanted;
  if (!axes.good) return;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    if (entry.at[a] < 0) continue;
    axes.scale[a] = static_cast<double>(Plain<T>::load(scales, entry.at[a]));
    set_extent(axes, a, floor(axes.scale[a] * static_cast<double>(axes.in.at[a])));
  }
}
template <int RANK, class T>
TCC_DEVICE void read_sizes(Resized<RANK>& axes, const Axes<RANK>& entry, const T* sizes, int64 count, int64 wanted,
                           AspectRatio policy) {
  axes.good = axes.good && count == wanted;
  if (!axes.good) return;
  double common = policy == AspectRatio::kNotLarger ? inf<double>() : 0.0;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    if (entry.at[a] < 0) continue;
    const double in = static_cast<double>(axes.in.at[a]), size = static_cast<double>(sizes[entry.at[a]]);
    axes.scale[a] = in == 0 ? 1.0 : size / in;
    set_extent(axes, a, size);
    common = policy == AspectRatio::kNotLarger ? (axes.scale[a] < common ? axes.scale[a] : common)
                                               : (axes.scale[a] > common ? axes.scale[a] : common);
  }
  if (policy == AspectRatio::kStretch) return;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    if (entry.at[a] < 0) continue;
    axes.scale[a] = common;
    set_extent(axes, a, floor(common * static_cast<double>(axes.in.at[a]) + 0.5));
  }
}
/// All starts, then all ends.
template <int RANK, class T>
TCC_DEVICE void read_crop(Resized<RANK>& axes, const Axes<RANK>& entry, const T* roi, int64 count, int64 wanted) {
  if (count == 0) return;
  axes.good = axes.good && count == 2 * wanted;
  if (!axes.good) return;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    if (entry.at[a] < 0) continue;
    axes.start[a] = static_cast<double>(Plain<T>::load(roi, entry.at[a]));
    axes.end[a] = static_cast<double>(Plain<T>::load(roi, entry.at[a] + wanted));
  }
}

/// After those: scales that are none, and extents that cannot be.
template <int RANK, class Samples>
TCC_DEVICE void find_resized(Resized<RANK>& axes, long long* found, long long* error) {
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    const double scale = axes.scale[a] == 0 ? 1.0 : axes.scale[a];
    axes.good = axes.good && scale > 0 && (axes.out.at[a] == 0 || axes.in.at[a] > 0);
    if (Samples::kMode != Interpolation::kNearest) axes.good = axes.good && Samples::half_width(scale) <= 2147483648.0;
  }
  leave_extents<RANK>(axes.good, axes.out, found, error);
}

template <int RANK>
TCC_DEVICE bool has_elements(const Axes<RANK>& axes) {
  bool all = true;
#pragma unroll
  for (int a = 0; a < RANK; ++a) all = all && axes.at[a] > 0;
  return all;
}

/// One result: where its axes look.
template <int RANK, class T, class Samples>
struct ResizeAt {
  const T* x;
  const Samples& samples;
  const Resized<RANK>& axes;
  bool same[RANK > 0 ? RANK : 1], outside[RANK > 0 ? RANK : 1];
  /// Of an axis that stays as it is, or takes the nearest element, that element; else the one at or before the sample.
  int64 base[RANK > 0 ? RANK : 1], stride[RANK > 0 ? RANK : 1];
  int64 first[RANK > 0 ? RANK : 1]; ///< sample, relative to `base`; the last one is 1 - first
  double ratio[RANK > 0 ? RANK : 1], sum[RANK > 0 ? RANK : 1], narrow[RANK > 0 ? RANK : 1];

  TCC_DEVICE ResizeAt(const T* x, const Samples& samples, const Resized<RANK>& axes, int64 index)
      : x(x), samples(samples), axes(axes) {
    int64 step = 1;
#pragma unroll
    for (int a = RANK - 1; a >= 0; --a) {
      const int64 i = index % axes.out.at[a], in = axes.in.at[a], out = axes.out.at[a];
      index /= out;
      stride[a] = step;
      step *= in;
      const double scale = axes.scale[a] == 0 ? 1.0 : axes.scale[a];
      same[a] = scale == 1 && in == out && axes.start[a] == 0 && axes.end[a] == 1;
      outside[a] = false;
      base[a] = i;
      if (same[a]) continue;
      const double at = Samples::coordinate(static_cast<double>(i), scale, static_cast<double>(in),
                                            static_cast<double>(out), axes.start[a], axes.end[a]);
      outside[a] = Samples::kCrops && !(at >= 0 && at <= static_cast<double>(in - 1));
      if (Samples::kMode == Interpolation::kNearest) {
        base[a] = Samples::nearest(at, in);
        continue;
      }
      base[a] = Samples::template whole<NearestMode::kCeil>(at) - 1;
      ratio[a] = at - static_cast<double>(base[a]);
      narrow[a] = Samples::shrink(scale);
      first[a] = Samples::first(scale);
      sum[a] = 1;
      if (!Samples::kNormalise) continue;
      double all = 0;
      for (int64 t = first[a]; t < 2 - first[a]; ++t) all += weight(a, t);
      sum[a] = all != 0 ? all : 1.0;
    }
  }
  TCC_DEVICE double weight(int a, int64 t) const {
    return samples.weight(narrow[a] * (static_cast<double>(t) - ratio[a]), base[a] + t, axes.in.at[a]);
  }

  template <int A>
  TCC_DEVICE double value(int64 offset) const {
    if constexpr (A < 0) {
      return static_cast<double>(Plain<T>::load(x, offset));
    } else {
      if (same[A]) return value<A - 1>(offset + base[A] * stride[A]);
      if (outside[A]) return samples.extrapolation;
      double result = 0;
      for (int64 t = first[A]; t < 2 - first[A]; ++t) {
        const double factor = Samples::kNormalise ? weight(A, t) / sum[A] : weight(A, t);
        if (factor == 0) continue;
        const int64 at = tcc::max(tcc::min(base[A] + t, axes.in.at[A] - 1), int64(0));
        result += factor * value<A - 1>(offset + at * stride[A]);
      }
      return result;
    }
  }
  TCC_DEVICE T element() const {
    if constexpr (Samples::kMode == Interpolation::kNearest) {
      int64 offset = 0;
      bool beyond = false;
#pragma unroll
      for (int a = 0; a < RANK; ++a) {
        beyond = beyond || outside[a];
        offset += base[a] * stride[a];
      }
      return beyond ? from_double<T>(samples.extrapolation) : x[offset];
    } else {
      return from_double<T>(value<RANK - 1>(0));
    }
  }
};

template <int RANK, class T, class Samples>
TCC_DEVICE void write_resized(const T* x, T* y, const Samples& samples, const Resized<RANK>& axes, int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < count) y[index] = ResizeAt<RANK, T, Samples>(x, samples, axes, index).element();
}

}  // namespace tcc
