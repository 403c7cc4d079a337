// Convolution, as `tcc.conv` and the integer and quantised library kernels share it, and what conv_transpose has in
// common with it.
#pragma once

#include "runtime/reference/gemm.h"
#include "runtime/reference/window.h"

namespace tcc::reference {

// x [N, C, spatial..] or [N, spatial.., C], w [O, C / groups, kernel..]; any numeric dtype, the same for both.
Results ConvTensor(const Tensor& x, const Tensor& w, const Window& window, int64_t groups, bool channels_last);

inline absl::Status CheckConv(const Tensor& x, const Tensor& w, int64_t groups) {
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return Invalid("x and w must have one rank of 3 or more, got ", DimsText(x.dims()), " and ", DimsText(w.dims()));
  }
  return CheckDType(w, x.dtype(), "w");
}

// Multi-indices of `count` consecutive positions from `first` in row-major order over dims.
inline std::vector<Dims> Positions(Extents dims, int64_t first, int count) {
  std::vector<Dims> positions;
  for (int i = 0; i < count; ++i) {
    int64_t rest = first + i;
    Dims index(dims.size());
    for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0; --axis) {
      index[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    positions.push_back(std::move(index));
  }
  return positions;
}

// Weights [O, C, kernel..] of one group as rows over (c, tap), row-major.
template <typename T>
std::vector<T> Rows(const Tensor& w, int64_t first, int64_t rows, bool transposed, int64_t first_c, int64_t c_count) {
  Dims permutation{transposed ? 1 : 0, transposed ? 0 : 1};
  for (int axis = 2; axis < w.rank(); ++axis) permutation.push_back(axis);
  const Tensor ordered = PermutedView(w, permutation);
  Dims dims = ordered.dims();
  dims[0] = rows;
  dims[1] = c_count;
  const Tensor part =
      ordered.View(dims, ordered.strides(), first * ordered.strides()[0] + first_c * ordered.strides()[1]);
  std::vector<T> values(part.num_elements());
  (void)CopyStrided(part, Tensor::Wrap(values.data(), w.dtype(), dims));
  return values;
}

}  // namespace tcc::reference
