#include <algorithm>
#include <numeric>

#include "runtime/reference/support.h"

namespace tcc::reference {

// ONNX Unique(x; axis, sorted) -> y, indices of first occurrences, inverse, counts (i64 each). Without axis x is
// flattened; with it the slices along the axis are compared as a whole, in lexicographic order. NaN sorts last, each
// its own value.
Results Unique(const Call& call) {
  Tensor x = call.inputs[0];
  int axis = 0;
  if (call.attributes.Has("axis")) {
    TCC_ASSIGN_OR_RETURN(axis, AxisAttribute(call, "axis", x.rank()));
  } else {
    TCC_ASSIGN_OR_RETURN(x, ReshapedTo(x, {x.num_elements()}));
  }
  const bool sorted = call.attributes.IntOr("sorted", 1) != 0;
  // Slices as rows of a packed matrix.
  Dims front{axis};
  for (int a = 0; a < x.rank(); ++a) {
    if (a != axis) front.push_back(a);
  }
  TCC_ASSIGN_OR_RETURN(const Tensor rows, PermutedView(x, front).Contiguous());
  const int64_t n = x.dim(axis), width = n == 0 ? 0 : rows.num_elements() / n;
  return Dispatch(Numbers() + Bools() + Strings(), x.dtype(), [&]<typename T>() -> Results {
    const T* data = rows.data_as<T>();
    const auto compare = [&](int64_t i, int64_t j) {  // -1, 0, 1
      for (int64_t k = 0; k < width; ++k) {
        const T &a = data[i * width + k], &b = data[j * width + k];
        const bool nan_a = IsNanValue(a), nan_b = IsNanValue(b);
        if (nan_a || nan_b) {
          if (nan_a != nan_b) return nan_a ? 1 : -1;
          if (i != j) return i < j ? -1 : 1;
          continue;
        }
        if (a < b) return -1;
        if (b < a) return 1;
      }
      return 0;
    };
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const int c = compare(i, j);
      return c != 0 ? c < 0 : i < j;
    });
    std::vector<int64_t> first, counts, group(n);  // in sorted order
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        first.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      group[order[i]] = static_cast<int64_t>(first.size()) - 1;
    }
    const int64_t m = static_cast<int64_t>(first.size());
    std::vector<int64_t> arrangement(m), place(m);  // the order of the result
    std::iota(arrangement.begin(), arrangement.end(), 0);
    if (!sorted) {
      std::sort(arrangement.begin(), arrangement.end(), [&](int64_t i, int64_t j) { return first[i] < first[j]; });
    }
    for (int64_t i = 0; i < m; ++i) place[arrangement[i]] = i;
    Dims dims = x.dims();
    dims[axis] = m;
    TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
    TCC_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kI64, {m}));
    TCC_ASSIGN_OR_RETURN(Tensor inverse, Tensor::Allocate(DType::kI64, {n}));
    TCC_ASSIGN_OR_RETURN(Tensor totals, Tensor::Allocate(DType::kI64, {m}));
    Dims slice = x.dims();
    slice[axis] = 1;
    for (int64_t i = 0; i < m; ++i) {
      const int64_t source = first[arrangement[i]];
      if (width != 0) {
        TCC_RETURN_IF_ERROR(CopyStrided(x.View(slice, x.strides(), source * x.strides()[axis]),
                                        y.View(slice, y.strides(), i * y.strides()[axis])));
      }
      indices.data_as<int64_t>()[i] = source;
      totals.data_as<int64_t>()[i] = counts[arrangement[i]];
    }
    for (int64_t i = 0; i < n; ++i) inverse.data_as<int64_t>()[i] = place[group[i]];
    return std::vector<Tensor>{y, indices, inverse, totals};
  });
}

}  // namespace tcc::reference
