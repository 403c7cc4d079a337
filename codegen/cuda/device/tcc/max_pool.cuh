// The largest element of windows, and where it is.
#pragma once
#include "tcc/shapes.cuh"

namespace tcc {

/// Windows over AXES axes of planes; what is outside of a plane is not looked at.
template <int AXES>
struct Windows {
  Axes<AXES> in, out, kernel, stride, low, dilation;
};

/// The first of equal maxima in row-major order; NaN is above all. -1 and the lowest number where a window has no element.
/// `indices` may be null. COLUMN_MAJOR: an index counts the first axis of a plane as the fastest.
template <int AXES, bool COLUMN_MAJOR, class T>
TCC_DEVICE void max_pool(const T* x, T* y, long long* indices, const Windows<AXES>& windows, T lowest, int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  int64 rest = index, plane_size = 1, base[AXES], taps = 1;
#pragma unroll
  for (int a = AXES - 1; a >= 0; --a) {
    base[a] = rest % windows.out.at[a] * windows.stride.at[a] - windows.low.at[a];
    rest /= windows.out.at[a];
    plane_size *= windows.in.at[a];
    taps *= windows.kernel.at[a];
  }
  const T* plane = x + rest * plane_size;
  T best = lowest;
  int64 best_index = -1;
  for (int64 tap = 0; tap < taps; ++tap) {
    int64 left = tap, offset = 0, step = 1, place[AXES];
    bool inside = true;
#pragma unroll
    for (int a = AXES - 1; a >= 0; --a) {
      const int64 at = base[a] + left % windows.kernel.at[a] * windows.dilation.at[a];
      left /= windows.kernel.at[a];
      inside = inside && at >= 0 && at < windows.in.at[a];
      place[a] = at;
      offset += at * step;
      step *= windows.in.at[a];
    }
    if (!inside) continue;
    const T value = plane[offset];
    const auto number = Plain<T>::load(&value, 0), most = Plain<T>::load(&best, 0);
    if (best_index >= 0 && !(number > most) && !(number != number && most == most)) continue;
    best = value;
    best_index = offset;
    if (COLUMN_MAJOR) {
      best_index = 0;
#pragma unroll
      for (int a = AXES - 1; a >= 0; --a) best_index = best_index * windows.in.at[a] + place[a];
    }
    best_index += rest * plane_size;
  }
  y[index] = best;
  if (indices != nullptr) indices[index] = best_index;
}

}  // namespace tcc
