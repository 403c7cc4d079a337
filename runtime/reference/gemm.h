// The one contraction loop that matmul, the convolutions and their integer kinds share.
//
// y[i, j] = sum over k of a[i, k] * b[k, j]. float32 and float64 accumulate in float64, integers wrap. `b` is never
// stored: it is asked for in panels of kPanel columns, already converted to the accumulator's type, so that a
// convolution gathers its input window by window and needs no im2col buffer. The inner loop works on kRows x kPanel
// accumulators that fit registers.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/reference/support.h"

namespace tcc::reference {

inline constexpr int kPanel = 8;
inline constexpr int kRows = 4;

template <typename T>
using GemmAccumulator =
    std::conditional_t<kIsFloat<T>, double, std::conditional_t<std::is_integral_v<T>, Unsigned<T>, T>>;

// fill(j, columns, panel): writes b[k, j + c] to panel[k * kPanel + c] for c < columns (the others are zero already and
// may stay so). store(i, j, value): takes y[i, j].
template <typename T, typename Fill, typename Store>
void Gemm(const T* a, int64_t row_stride, int64_t k_stride, int64_t m, int64_t n, int64_t k, Fill fill, Store store) {
  using A = GemmAccumulator<T>;
  // The rows of a, converted once and interleaved by kRows.
  const int64_t blocks = (m + kRows - 1) / kRows;
  std::vector<A> rows(static_cast<size_t>(blocks * kRows * k + kRows), A(0));  // never empty
  for (int64_t i = 0; i < m; ++i) {
    A* row = rows.data() + i / kRows * kRows * k + i % kRows;
    for (int64_t l = 0; l < k; ++l) row[l * kRows] = static_cast<A>(a[i * row_stride + l * k_stride]);
  }
  std::vector<A> panel(static_cast<size_t>(k * kPanel), A(0));
  for (int64_t j = 0; j < n; j += kPanel) {
    const int columns = static_cast<int>(std::min<int64_t>(kPanel, n - j));
    fill(j, columns, panel.data());
    for (int64_t block = 0; block < blocks; ++block) {
      A sums[kRows][kPanel] = {};
      const A* as = rows.data() + block * kRows * k;
      const A* bs = panel.data();
      for (int64_t l = 0; l < k; ++l, as += kRows, bs += kPanel) {
        for (int r = 0; r < kRows; ++r) {
          for (int c = 0; c < kPanel; ++c) sums[r][c] += as[r] * bs[c];
        }
      }
      const int64_t i = block * kRows;
      const int height = static_cast<int>(std::min<int64_t>(kRows, m - i));
      for (int r = 0; r < height; ++r) {
        for (int c = 0; c < columns; ++c) store(i + r, j + c, static_cast<T>(sums[r][c]));
      }
    }
  }
}

// y = a[M, K] b[K, N] of 2-D tensors with any strides, y preallocated.
template <typename T>
void GemmTensors(const Tensor& a, const Tensor& b, const Tensor& y) {
  const T* bs = b.data_as<T>();
  T* ys = y.data_as<T>();
  const int64_t k = a.dim(1), b_row = b.strides()[0], b_column = b.strides()[1];
  const int64_t y_row = y.strides()[0], y_column = y.strides()[1];
  Gemm<T>(
      a.data_as<T>(), a.strides()[0], a.strides()[1], a.dim(0), b.dim(1), k,
      [&](int64_t j, int columns, auto* panel) {
        using A = std::remove_reference_t<decltype(*panel)>;
        for (int64_t l = 0; l < k; ++l) {
          const T* row = bs + l * b_row + j * b_column;
          for (int c = 0; c < columns; ++c) panel[l * kPanel + c] = static_cast<A>(row[c * b_column]);
        }
      },
      [&](int64_t i, int64_t j, T value) { ys[i * y_row + j * y_column] = value; });
}

}  // namespace tcc::reference
