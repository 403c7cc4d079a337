// Signal processing of ONNX: DFT, STFT, windows, MelWeightMatrix.
#include <cmath>
#include <complex>
#include <numbers>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

using Complex = std::complex<double>;

// Any length: radix 2 where it is a power of two, else Bluestein's reduction to one (a chirp times a convolution).
void Radix2(std::vector<Complex>& v, double sign) {
  const size_t n = v.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(v[i], v[j]);
  }
  for (size_t width = 2; width <= n; width *= 2) {
    const size_t half = width / 2;
    std::vector<Complex> roots(half);
    for (size_t k = 0; k < half; ++k) {
      roots[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(width));
    }
    for (size_t start = 0; start < n; start += width) {
      for (size_t k = 0; k < half; ++k) {
        const Complex a = v[start + k], b = v[start + k + half] * roots[k];
        v[start + k] = a + b;
        v[start + k + half] = a - b;
      }
    }
  }
}

// sum over n of v[n] exp(sign * 2 pi i k n / N)
void Fourier(std::vector<Complex>& v, double sign) {
  const size_t n = v.size();
  if (n <= 1) return;
  if ((n & (n - 1)) == 0) return Radix2(v, sign);
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  std::vector<Complex> chirp(n), a(m), b(m);
  for (size_t k = 0; k < n; ++k) {
    // k * k modulo 2 n, so that the angle stays small and exact.
    const size_t square = static_cast<size_t>(static_cast<unsigned __int128>(k) * k % (2 * n));
    chirp[k] = std::polar(1.0, sign * std::numbers::pi * static_cast<double>(square) / static_cast<double>(n));
    a[k] = v[k] * chirp[k];
    b[k] = std::conj(chirp[k]);
    if (k != 0) b[m - k] = b[k];
  }
  Radix2(a, -1);
  Radix2(b, -1);
  for (size_t i = 0; i < m; ++i) a[i] *= b[i];
  Radix2(a, 1);
  for (size_t k = 0; k < n; ++k) v[k] = a[k] / static_cast<double>(m) * chirp[k];
}

constexpr int64_t kMaxLength = int64_t{1} << 31;

}  // namespace

// DFT(x [.., 1 or 2], dft_length?, axis?; axis (attribute, default -2), inverse, onesided). Zero-padded or cut to
// dft_length. onesided forward keeps floor(n / 2) + 1 bins; onesided inverse completes them by conjugate symmetry and
// gives reals [.., 1].
Results Dft(const Call& call) {
  const Tensor& input = call.inputs[0];
  const int rank = input.rank();
  int64_t axis_value = call.attributes.IntOr("axis", -2);
  if (call.inputs[2].valid()) {
    TCC_ASSIGN_OR_RETURN(axis_value, Int64Scalar(call.inputs[2], "the axis"));
  }
  TCC_ASSIGN_OR_RETURN(const int axis, Axis(axis_value, rank));
  if (rank < 2 || axis == rank - 1)
    return Invalid("axis ", axis_value, " is not a signal axis of ", DimsText(input.dims()));
  const int64_t parts = input.dim(rank - 1);
  if (parts != 1 && parts != 2) return Invalid("the last axis must have extent 1 or 2, got ", parts);
  const bool inverse = call.attributes.IntOr("inverse", 0) != 0, onesided = call.attributes.IntOr("onesided", 0) != 0;
  const bool half_input = inverse && onesided;
  int64_t length = half_input ? std::max<int64_t>(2 * (input.dim(axis) - 1), 0) : input.dim(axis);
  if (call.inputs[1].valid()) {
    TCC_ASSIGN_OR_RETURN(length, Int64Scalar(call.inputs[1], "dft_length"));
  }
  if (length < 0 || length > kMaxLength) return OutOfRange("dft_length ", length);
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(input, DType::kF64));
  Dims dims = x.dims();
  dims[axis] = onesided && !inverse ? (length == 0 ? 0 : length / 2 + 1) : length;
  dims[rank - 1] = half_input ? 1 : 2;
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(DType::kF64, dims));
  Dims outer = dims;
  outer[axis] = outer[rank - 1] = 1;
  const int64_t taken = std::min(x.dim(axis), half_input ? length / 2 + 1 : length);
  std::vector<Complex> line(length);
  for (Counter at(outer); length > 0 && y.num_elements() != 0 && at.more(); at.Next()) {
    const double* source = x.data_as<double>() + at.Offset(x.strides());
    double* target = y.data_as<double>() + at.Offset(y.strides());
    std::fill(line.begin(), line.end(), Complex(0));
    for (int64_t i = 0; i < taken; ++i) {
      const double* value = source + i * x.strides()[axis];
      line[i] = Complex(value[0], parts == 2 ? value[1] : 0);
      if (half_input && i != 0 && length - i != i) line[length - i] = std::conj(line[i]);
    }
    Fourier(line, inverse ? 1 : -1);
    for (int64_t k = 0; k < dims[axis]; ++k) {
      const Complex value = inverse ? line[k] / static_cast<double>(length) : line[k];
      double* element = target + k * y.strides()[axis];
      element[0] = value.real();
      if (!half_input) element[1] = value.imag();
    }
  }
  return One(ConvertDType(y, input.dtype()));
}

// STFT(signal [batch, length, 1 or 2], frame_step, window?, frame_length?; onesided default 1) -> [batch, frames, bins,
// 2].
Results Stft(const Call& call) {
  const Tensor& input = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int64_t step, Int64Scalar(call.inputs[1], "frame_step"));
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(input, DType::kF64));
  if (x.rank() != 3 || (x.dim(2) != 1 && x.dim(2) != 2)) return Invalid("the signal must be [batch, length, 1 or 2]");
  std::vector<double> window;
  int64_t size = 0;
  if (call.inputs[2].valid()) {
    TCC_ASSIGN_OR_RETURN(window, ToVector<double>(call.inputs[2]));
    size = static_cast<int64_t>(window.size());
  }
  if (call.inputs[3].valid()) {
    TCC_ASSIGN_OR_RETURN(size, Int64Scalar(call.inputs[3], "frame_length"));
  }
  if (step < 1 || size < 1 || size > kMaxLength || (!window.empty() && static_cast<int64_t>(window.size()) != size)) {
    return Invalid("frame_step ", step, ", frame_length ", size, " and window of ", window.size(), " do not fit");
  }
  const bool onesided = call.attributes.IntOr("onesided", 1) != 0;
  const int64_t frames = x.dim(1) < size ? 0 : (x.dim(1) - size) / step + 1;
  const int64_t bins = onesided ? size / 2 + 1 : size, parts = x.dim(2);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, {x.dim(0), frames, bins, 2}));
  std::vector<Complex> line(frames == 0 ? 0 : size);
  double* target = y.data_as<double>();
  for (int64_t b = 0; b < x.dim(0); ++b) {
    for (int64_t f = 0; f < frames; ++f) {
      const double* source = x.data_as<double>() + (b * x.dim(1) + f * step) * parts;
      for (int64_t i = 0; i < size; ++i) {
        line[i] =
            Complex(source[i * parts], parts == 2 ? source[i * parts + 1] : 0) * (window.empty() ? 1.0 : window[i]);
      }
      Fourier(line, -1);
      for (int64_t k = 0; k < bins; ++k) {
        *target++ = line[k].real();
        *target++ = line[k].imag();
      }
    }
  }
  return One(ConvertDType(y, input.dtype()));
}

namespace {

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n = size (periodic) or size - 1.
Results CosineWindow(const Call& call, double a0, double a1, double a2) {
  TCC_ASSIGN_OR_RETURN(const int64_t size, Int64Scalar(call.inputs[0], "the size"));
  const bool periodic = call.attributes.IntOr("periodic", 1) != 0;
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, {size}));
  const double n = static_cast<double>(periodic ? size : size - 1);
  for (int64_t i = 0; i < size; ++i) {
    const double angle = n == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / n;
    y.data_as<double>()[i] = size == 1 ? 1 : a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  return One(ConvertDType(y, ResultDType(call, 0, DType::kF32)));
}

}  // namespace

// Windows(size; periodic default 1) -> [size] in the expected dtype, else f32. A window of one sample is 1.
Results HannWindow(const Call& call) { return CosineWindow(call, 0.5, 0.5, 0); }
Results HammingWindow(const Call& call) { return CosineWindow(call, 25. / 46, 21. / 46, 0); }
Results BlackmanWindow(const Call& call) { return CosineWindow(call, 0.42, 0.5, 0.08); }

// MelWeightMatrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz) -> [dft_length / 2 + 1,
// bins].
Results MelWeightMatrix(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const int64_t bins, Int64Scalar(call.inputs[0], "num_mel_bins"));
  TCC_ASSIGN_OR_RETURN(const int64_t length, Int64Scalar(call.inputs[1], "dft_length"));
  TCC_ASSIGN_OR_RETURN(const int64_t rate, Int64Scalar(call.inputs[2], "sample_rate"));
  TCC_ASSIGN_OR_RETURN(const double low, DoubleScalar(call.inputs[3], "lower_edge_hertz"));
  TCC_ASSIGN_OR_RETURN(const double high, DoubleScalar(call.inputs[4], "upper_edge_hertz"));
  if (bins < 0 || length < 0 || rate < 1 || bins > kMaxLength || length > kMaxLength) return OutOfRange("bad sizes");
  const int64_t rows = length / 2 + 1;
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(DType::kF64, {rows, bins}));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(edge >= 0 && edge < static_cast<double>(rows))) {
      return OutOfRange("the edge at ", hertz, " Hz lies outside the ", rows, " bins of the spectrum");
    }
    edges.push_back(static_cast<int64_t>(edge));
  }
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = edges[i], centre = edges[i + 1], right = edges[i + 2];
    double* column = y.data_as<double>() + i;
    if (left == centre) column[centre * bins] = 1;
    for (int64_t j = left; j <= centre && left != centre; ++j) {
      column[j * bins] = static_cast<double>(j - left) / static_cast<double>(centre - left);
    }
    for (int64_t j = centre; j < right; ++j) {
      column[j * bins] = static_cast<double>(right - j) / static_cast<double>(right - centre);
    }
  }
  return One(ConvertDType(y, ResultDType(call, 0, DType::kF32)));
}

}  // namespace tcc::reference
