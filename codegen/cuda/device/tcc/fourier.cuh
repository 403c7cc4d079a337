// Discrete Fourier transforms, each result a sum over its line in float64: any length, without a table. (n^2 steps: right
// for the lengths that models have, a few thousand.)
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

/// The angle of step k * n of `length`, times pi; small, so that it is exact.
TCC_DEVICE void turn(int64 k, int64 n, int64 length, double& cosine, double& sine) {
  const uint64 step = static_cast<uint64>(k) * static_cast<uint64>(n) % static_cast<uint64>(length);
  sincospi(2.0 * static_cast<double>(step) / static_cast<double>(length), &sine, &cosine);
}

/// Lines of complex (PARTS 2) or real numbers, `inner` of which lie side by side.
struct FourierLines {
  int64 extent, inner; ///< of the operand's axis
  int64 taken, length; ///< elements that are read; the others up to `length` are zero
  int64 bins;          ///< of the result's axis
};

/// HALF: the operand is the first half of a spectrum whose other half is its mirror image; results are real.
template <class T, int PARTS, bool INVERSE, bool HALF>
TCC_DEVICE void dft(const T* x, T* y, const FourierLines& lines, int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const int64 inner = index % lines.inner, k = index / lines.inner % lines.bins, outer = index / lines.inner / lines.bins;
  const T* line = x + (outer * lines.extent * lines.inner + inner) * PARTS;
  double real = 0, imaginary = 0;
  for (int64 n = 0; n < lines.taken; ++n) {
    const int64 at = n * lines.inner * PARTS;
    const double a = static_cast<double>(Plain<T>::load(line, at));
    const double b = PARTS == 2 ? static_cast<double>(Plain<T>::load(line, at + 1)) : 0.0;
    double cosine, sine;
    turn(k, n, lines.length, cosine, sine);
    if (!INVERSE) sine = -sine;
    real += a * cosine - b * sine;
    imaginary += a * sine + b * cosine;
    // The mirror image: the conjugate, at the place counted from the end. Their imaginary parts cancel.
    if (HALF && n != 0 && lines.length - n != n) real += a * cosine - b * sine;
  }
  const double scale = INVERSE ? 1.0 / static_cast<double>(lines.length) : 1.0;
  if (HALF) {
    y[index] = from_double<T>(real * scale);
    return;
  }
  y[2 * index] = from_double<T>(real * scale);
  y[2 * index + 1] = from_double<T>(imaginary * scale);
}

/// Frames of `size` at steps of `step`, times a window (or none).
template <class T, int PARTS, bool WINDOWED>
TCC_DEVICE void stft(const T* x, const T* window, T* y, int64 length, int64 step, int64 size, int64 frames, int64 bins,
                     int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const int64 k = index % bins, frame = index / bins % frames, batch = index / bins / frames;
  const T* line = x + (batch * length + frame * step) * PARTS;
  double real = 0, imaginary = 0;
  for (int64 n = 0; n < size; ++n) {
    const double weight = WINDOWED ? static_cast<double>(Plain<T>::load(window, n)) : 1.0;
    const double a = static_cast<double>(Plain<T>::load(line, n * PARTS)) * weight;
    const double b = PARTS == 2 ? static_cast<double>(Plain<T>::load(line, n * PARTS + 1)) * weight : 0.0;
    double cosine, sine;
    turn(k, n, size, cosine, sine);
    real += a * cosine + b * sine;
    imaginary += b * cosine - a * sine;
  }
  y[2 * index] = from_double<T>(real);
  y[2 * index + 1] = from_double<T>(imaginary);
}

}  // namespace tcc
